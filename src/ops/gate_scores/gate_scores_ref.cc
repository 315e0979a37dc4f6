#include <cmath>

#include "ops/gate_scores/gate_scores_kernels.h"

namespace deepinfer::ops {

void gate_scores_reference(const graph::OpCall& call) {
  const std::int64_t hidden = call.in[0].type.shape[1];
  const std::int64_t experts = call.in[1].type.shape[0];
  for (std::int64_t i = 0; i < call.in[0].type.shape[0] * experts; ++i) {
    const BF16* x = call.in[0].as<BF16>() + i / experts * hidden;
    const BF16* w = call.in[1].as<BF16>() + i % experts * hidden;
    double dot = 0;
    for (std::int64_t d = 0; d < hidden; ++d) dot += double{to_float(x[d])} * double{to_float(w[d])};
    dot /= call.attrs.real("temp");
    call.out[0].as<double>()[i] = std::sqrt(dot > 20 ? dot : std::log1p(std::exp(dot)));
  }
}

}  // namespace deepinfer::ops
