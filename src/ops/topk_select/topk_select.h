// Top-k selection: the k best-scored rows of each query, as ascending row ids.
//
// The order is total (higher score first, then the lower row), so equal inputs give equal lists everywhere. Only the
// threshold score is searched for, by a radix selection over order-preserving integer keys; one ascending pass then
// collects the ids, so nothing is sorted. With visible <= k this is a single pass.
//
/// ids[t] = the rows of the k best (score, -row) pairs among eligible rows of [0, visible[t]), ascending
///
/// scores   [T, R]  bf16 or f32; a row with a score <= -1e30 (bf16: <= bf16(-1e30)) or NaN is never eligible;
///                  +0 equals -0
/// visible  [T]     s32, 0..R; rows beyond are never read
/// ids      [T, k]  s32, k <= R; entries at or beyond count are 0
/// count    [T]     s32 = min(k, eligible rows)
/// Errors: shape, dtype, k outside 1..R.   Threads: ctx.pool over tokens.
/// Source: kernels-neuron.md 5.3, model.md 7.4.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

struct Selection {
  graph::Value ids;    ///< s32[T, k]
  graph::Value count;  ///< s32[T]
};
Selection topk_select(graph::Emitter& e, const graph::Value& scores, const graph::Value& visible, std::int64_t k);

}  // namespace deepinfer::ops
