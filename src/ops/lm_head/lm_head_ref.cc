#include "ops/lm_head/lm_head_kernels.h"

namespace deepinfer::ops {

void lm_head_reference(const graph::OpCall& call) {
  const std::int64_t hidden = call.in[0].type.shape[1];
  const std::int64_t vocab = call.in[1].type.shape[0];
  for (std::int64_t i = 0; i < call.in[0].type.shape[0] * vocab; ++i) {
    const BF16* x = call.in[0].as<BF16>() + i / vocab * hidden;
    const BF16* w = call.in[1].as<BF16>() + i % vocab * hidden;
    double sum = 0;
    for (std::int64_t d = 0; d < hidden; ++d) sum += double{to_float(x[d])} * double{to_float(w[d])};
    call.out[0].as<double>()[i] = sum;
  }
}

}  // namespace deepinfer::ops
