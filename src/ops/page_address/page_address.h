// Record addresses of selected compressed rows through a block table.
//
/// j = ids[t, i]:  slot[t*k + i] = block_table[t, j / rows],  pos[t*k + i] = j % rows
///
/// ids          [T, k]  s32, 0 <= id < B * rows (entries beyond a token's count are 0)
/// block_table  [T, B]  s32, root rows of the token's sequence
/// slot, pos    [T*k]   s32, as state_gather takes them
/// An id outside the table is a broken invariant (CheckFailure).   Errors: shape, dtype, rows < 1.
/// Source: graph.md 8 (CS-32).
#pragma once

#include "ops/state_store/state_store.h"

namespace deepinfer::ops {

/// `rows`: records of a block (StateView::rows).
RecordAddress page_address(graph::Emitter& e, const graph::Value& ids, const graph::Value& block_table,
                           std::int64_t rows);

}  // namespace deepinfer::ops
