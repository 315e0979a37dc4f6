#include "ops/linear_bf16/dense_rows.h"
#include "ops/lm_head/lm_head_kernels.h"

namespace deepinfer::ops {

void lm_head_host(const graph::OpCall& call) {
  const std::int64_t vocab = call.out[0].type.shape[1];
  auto* out = call.out[0].as<float>();
  dense_rows(call.ctx, call.in[0], call.in[1],
             [=](std::int64_t t, std::int64_t first, std::int64_t count, const float* sums) {
               std::copy_n(sums, count, out + t * vocab + first);
             });
}

}  // namespace deepinfer::ops
