#include "ops/linear_bf16/linear_bf16_kernels.h"

namespace deepinfer::ops {

void linear_bf16_reference(const graph::OpCall& call) {
  const std::int64_t k = call.in[0].type.shape[1];
  const std::int64_t n = call.in[1].type.shape[0];
  const bool is_f32 = call.in[1].type.dtype == DType::kF32;
  for (std::int64_t t = 0; t < call.in[0].type.shape[0]; ++t) {
    for (std::int64_t row = 0; row < n; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const double w = is_f32 ? double{call.in[1].as<float>()[row * k + i]}
                                : double{to_float(call.in[1].as<BF16>()[row * k + i])};
        sum += double{to_float(call.in[0].as<BF16>()[t * k + i])} * w;
      }
      call.out[0].as<double>()[t * n + row] = sum * call.attrs.real("fold_scale");
    }
  }
}

}  // namespace deepinfer::ops
