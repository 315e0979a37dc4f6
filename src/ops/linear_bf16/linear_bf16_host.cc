#include "ops/linear_bf16/dense_rows.h"
#include "ops/linear_bf16/linear_bf16_kernels.h"

namespace deepinfer::ops {

void linear_bf16_host(const graph::OpCall& call) {
  const std::int64_t n = call.out[0].type.shape[1];
  const auto fold = static_cast<float>(call.attrs.real("fold_scale"));
  const bool folds = call.attrs.real("fold_scale") != 1.0;
  const bool is_f32 = call.out[0].type.dtype == DType::kF32;
  dense_rows(call.ctx, call.in[0], call.in[1],
             [&](std::int64_t t, std::int64_t first, std::int64_t count, const float* sums) {
               if (is_f32) {
                 std::copy_n(sums, count, call.out[0].as<float>() + t * n + first);
                 return;
               }
               BF16* out = call.out[0].as<BF16>() + t * n + first;
               for (std::int64_t i = 0; i < count; ++i) {
                 out[i] = folds ? to_bf16(round_bf16(sums[i]) * fold) : to_bf16(sums[i]);
               }
             });
}

}  // namespace deepinfer::ops
