#include <algorithm>

#include "ops/rope/rope_kernels.h"

namespace deepinfer::ops {
namespace {

/// Rotates the pairs at x into out; `sign` is -1 for the conjugate (negating s changes no rounding).
void rotate(const BF16* x, const float* cos, const float* sin, std::int64_t pairs, float sign, BF16* out) {
  for (std::int64_t i = 0; i < pairs; ++i) {
    const float x0 = to_float(x[2 * i]);
    const float x1 = to_float(x[2 * i + 1]);
    const float s = sign * sin[i];
    out[2 * i] = to_bf16(x0 * cos[i] - x1 * s);
    out[2 * i + 1] = to_bf16(x0 * s + x1 * cos[i]);
  }
}

}  // namespace

void rope_host(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t n = shape.back();
  const std::int64_t rows = shape.num_elements() / n;
  const std::int64_t rows_per_token = rows / shape[0];
  const std::int64_t pairs = call.in[1].type.shape[1];
  const std::int64_t plain = n - 2 * pairs;
  const float sign = call.attrs.boolean("conjugate") ? -1.0F : 1.0F;
  const BF16* x = call.in[0].as<BF16>();
  BF16* out = call.out[0].as<BF16>();
  call.ctx.pool->parallel_for(rows, 8, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      const std::int64_t t = r / rows_per_token;
      std::copy_n(x + r * n, plain, out + r * n);
      rotate(x + r * n + plain, call.in[1].as<float>() + t * pairs, call.in[2].as<float>() + t * pairs, pairs, sign,
             out + r * n + plain);
    }
  });
}

}  // namespace deepinfer::ops
