#include "ops/hc_collapse/hc_collapse_kernels.h"

namespace deepinfer::ops {

void hc_collapse_reference(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    for (std::int64_t d = 0; d < shape[2]; ++d) {
      double sum = 0;
      for (std::int64_t j = 0; j < shape[1]; ++j) {
        sum += double{call.in[1].as<float>()[t * shape[1] + j]} *
               double{to_float(call.in[0].as<BF16>()[(t * shape[1] + j) * shape[2] + d])};
      }
      call.out[0].as<double>()[t * shape[2] + d] = sum;
    }
  }
}

}  // namespace deepinfer::ops
