// Access to cache records inside a state root: store in place, gather, and the record address that both use.
//
// A root is u8 [A, B]: one row per block or sequence. A view {base, rows, row_bytes} names records: record (slot, pos)
// lies in root row `slot` at byte base + pos * row_bytes. There is no sentinel: every address is valid, padding goes to
// slot 0 or to the scratch block. An address outside the view is a broken invariant (CheckFailure).
// Errors: shape, dtype, a view that does not fit into a root row.   Source: graph.md 4.2 to 4.4.
#pragma once

#include <string_view>

#include "graph/emitter.h"

namespace deepinfer::ops {

/// Where records of one (layer, kind) live in a root; `kind` and `owner` are for reports and validation only.
struct StateView {
  std::string_view kind;       ///< swa, ca, ica, ca_state
  std::int64_t owner = 0;      ///< layer that owns the cache
  std::int64_t base = 0;       ///< byte of record 0 in a root row
  std::int64_t rows = 0;       ///< records per root row
  std::int64_t row_bytes = 0;  ///< bytes of a record
};
/// Addresses of M records: slot and pos, s32 [M] each.
struct RecordAddress {
  graph::Value slot;
  graph::Value pos;
};

/// root' = root with rows[m] at (slot[m], pos[m]); equal addresses: the later row wins. Updates in place.
///
/// root  [A, B]          u8
/// rows  [M, row_bytes]  u8
graph::Value state_store(graph::Emitter& e, const graph::Value& root, const RecordAddress& at,
                         const graph::Value& rows, const StateView& view);

/// out[m] = record (slot[m], pos[m])   -> u8 [M, row_bytes].   Threads: ctx.pool over records.
graph::Value state_gather(graph::Emitter& e, const graph::Value& root, const RecordAddress& at, const StateView& view);

/// The attributes kind, owner, base and rows of a view.
graph::Attrs view_attrs(const StateView& view);

}  // namespace deepinfer::ops
