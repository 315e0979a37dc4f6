#include "ops/gate_dense/gate_dense_kernels.h"

namespace deepinfer::ops {

void gate_dense_reference(const graph::OpCall& call) {
  const std::int64_t k = call.in[0].type.shape[1];
  const Shape& shape = call.out[0].type.shape;
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    for (std::int64_t e = 0; e < shape[1]; ++e) {
      double sum = 0;
      for (std::int64_t j = t * k; j < (t + 1) * k; ++j) {
        if (call.in[0].as<std::int32_t>()[j] == call.attrs.integer("first_expert") + e) {
          sum += double{call.in[1].as<float>()[j]};
        }
      }
      call.out[0].as<double>()[t * shape[1] + e] = sum;
    }
  }
}

}  // namespace deepinfer::ops
