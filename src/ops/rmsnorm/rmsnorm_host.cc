#include <cmath>

#include "ops/isa/isa.h"
#include "ops/rmsnorm/rmsnorm_kernels.h"

namespace deepinfer::ops {

void rmsnorm_host(const graph::OpCall& call) {
  const std::int64_t num_tokens = call.out[0].type.shape[0];
  const std::int64_t n = call.out[0].type.shape[1];
  const auto eps = static_cast<float>(call.attrs.real("eps"));
  const BF16* x = call.in[0].as<BF16>();
  const BF16* gamma = call.in[1].as<BF16>();
  BF16* out = call.out[0].as<BF16>();
  float* rows = call.ctx.scratch->take<float>(num_tokens * n);
  call.ctx.pool->parallel_for(num_tokens, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      float* row = rows + t * n;
      for (std::int64_t i = 0; i < n; ++i) row[i] = to_float(x[t * n + i]);
      float sum = 0;
      call.ctx.isa->rows_f32_bf16map(row, row, n, 1, n, &sum);
      const float r = 1.0F / std::sqrt(sum / static_cast<float>(n) + eps);
      for (std::int64_t i = 0; i < n; ++i) out[t * n + i] = to_bf16((row[i] * r) * to_float(gamma[i]));
    }
  });
}

}  // namespace deepinfer::ops
