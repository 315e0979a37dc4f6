#include "ops/embed_rows/embed_rows_kernels.h"

namespace deepinfer::ops {

void embed_rows_reference(const graph::OpCall& call) {
  const std::int64_t hidden = call.in[0].type.shape[1];
  for (std::int64_t t = 0; t < call.in[1].type.shape[0]; ++t) {
    const BF16* row = call.in[0].as<BF16>() + call.in[1].as<std::int32_t>()[t] * hidden;
    for (std::int64_t d = 0; d < hidden; ++d) call.out[0].as<double>()[t * hidden + d] = double{to_float(row[d])};
  }
}

}  // namespace deepinfer::ops
