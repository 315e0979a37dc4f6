// The loop of all products of bf16 rows with unquantised weights (linear_bf16, lm_head, gate_scores).
#pragma once

#include <algorithm>

#include "graph/op_def.h"
#include "ops/isa/isa.h"

namespace deepinfer::ops {

inline constexpr std::int64_t kDenseChunk = 32;  ///< weight rows per step: they stay in the L2 cache for all tokens

/// For every token t and run of at most kDenseChunk weight rows: store(t, first, count, sums) with the V16 sums of
/// x [T, K] bf16 and w [N, K] bf16 or f32. Called from pool threads; runs never overlap.
template <typename Store>
void dense_rows(graph::KernelContext& ctx, const ConstTensorRef& x, const ConstTensorRef& w, const Store& store) {
  const std::int64_t num_tokens = x.type.shape[0];
  const std::int64_t k = x.type.shape[1];
  const bool is_f32 = w.type.dtype == DType::kF32;
  auto* wide = ctx.scratch->take<float>(num_tokens * k);
  const BF16* values = x.as<BF16>();
  for (std::int64_t i = 0; i < num_tokens * k; ++i) wide[i] = to_float(values[i]);
  ctx.pool->parallel_for(w.type.shape[0], kDenseChunk, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end; first += kDenseChunk) {
      const std::int64_t count = std::min(kDenseChunk, end - first);
      for (std::int64_t t = 0; t < num_tokens; ++t) {
        float sums[kDenseChunk];
        if (is_f32) {
          ctx.isa->rows_f32(wide + t * k, w.as<float>() + first * k, k, count, k, sums);
        } else {
          ctx.isa->rows_bf16(wide + t * k, w.as<BF16>() + first * k, k, count, sums);
        }
        store(t, first, count, sums);
      }
    }
  });
}

}  // namespace deepinfer::ops
