// Token embedding: one row of the table per token id.
//
/// out[t, d] = table[ids[t], d]
///
/// table  [V, D]  bf16
/// ids    [T]     s32, 0 <= id < V: anything else is a broken invariant (CheckFailure)
/// out    [T, D]  bf16
/// Errors: shape or dtype.   Threads: ctx.pool over tokens.   Source: graph.md 2.2, model.md 3.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value embed_rows(graph::Emitter& e, const graph::Value& table, const graph::Value& ids);

}  // namespace deepinfer::ops
