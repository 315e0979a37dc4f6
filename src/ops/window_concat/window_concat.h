// Rows that a prefill chunk attends to: the history records of its sequences, then the chunk's own rows.
//
/// out = [record (slot[0], pos[0]), ..., record (slot[Hs-1], pos[Hs-1]), rows[0], ..., rows[T-1]]
///
/// root       [A, B]      u8
/// slot, pos  [Hs]        s32, history records in the order in which the index tables of the step number them
/// rows       [T, rb]     u8, the chunk's packed rows
/// out        [Hs+T, rb]  u8
/// Errors: shape, dtype, a view that does not fit.   Threads: ctx.pool over rows.   Eager prefill only.
/// Without history the model uses `rows` directly.   Source: graph.md 2.2, 4.2.
#pragma once

#include "ops/state_store/state_store.h"

namespace deepinfer::ops {

graph::Value window_concat(graph::Emitter& e, const graph::Value& root, const RecordAddress& at,
                           const graph::Value& rows, const StateView& view);

}  // namespace deepinfer::ops
