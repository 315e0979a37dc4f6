#include "ops/hc_expand/hc_expand_kernels.h"

namespace deepinfer::ops {

void hc_expand_reference(const graph::OpCall& call) {
  const Shape& shape = call.in[1].type.shape;
  const std::int64_t n = shape[1];
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    for (std::int64_t k = 0; k < n; ++k) {
      for (std::int64_t d = 0; d < shape[2]; ++d) {
        double sum =
            double{call.in[2].as<float>()[t * n + k]} * double{to_float(call.in[0].as<BF16>()[t * shape[2] + d])};
        for (std::int64_t j = 0; j < n; ++j) {
          sum += double{call.in[3].as<float>()[(t * n + j) * n + k]} *
                 double{to_float(call.in[1].as<BF16>()[(t * n + j) * shape[2] + d])};
        }
        call.out[0].as<double>()[(t * n + k) * shape[2] + d] = sum;
      }
    }
  }
}

}  // namespace deepinfer::ops
