// Routing pairs as one dense weight per local expert: what the expert kernels and expert parallelism consume.
//
/// out[t, e] = sum_j (ids[t, j] == first_expert + e ? weights[t, j] : 0)
///
/// ids, weights  [num_tokens, k]          s32, f32; ids of other ranks are ignored
/// out           [num_tokens, num_local]  f32
/// Numerics: fp32 sum from +0 in ascending j; a padding row (weights 0) gives zeros.   Errors: shape, dtype, range.
/// Threads: ctx.pool over tokens.   Source: graph.md 2.2, CS-15.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value gate_dense(graph::Emitter& e, const graph::Value& ids, const graph::Value& weights,
                        std::int64_t first_expert, std::int64_t num_local);

}  // namespace deepinfer::ops
