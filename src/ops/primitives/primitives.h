// Primitives that only move data: reshape, slices, concatenation and row gathers. No element changes its bytes.
//
// reshape and slice_rows are views: their result shares the operand's storage and costs nothing. The others copy.
// Every dtype is accepted.   Errors: rank, extent or range that does not fit.   Source: graph.md 2.1.
#pragma once

#include <span>

#include "graph/emitter.h"

namespace deepinfer::ops {

/// Same elements in row-major order under another shape of equal size (view).
graph::Value reshape(graph::Emitter& e, const graph::Value& x, const Shape& shape);

/// Half-open range of one axis, 0 <= begin < end <= extent.
struct SliceRange {
  int axis = 0;
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// x[begin:end, ...]  (view, axis 0)
graph::Value slice_rows(graph::Emitter& e, const graph::Value& x, std::int64_t begin, std::int64_t end);

/// x[..., begin:end, ...] along any axis (copy)
graph::Value slice(graph::Emitter& e, const graph::Value& x, const SliceRange& range);

/// Operands one after the other along `axis`; all other extents and the dtype are equal. At least one operand.
graph::Value concat(graph::Emitter& e, std::span<const graph::Value> parts, int axis);

/// out[i, ...] = src[idx[i], ...]
///
/// src  [R, ...]   any dtype
/// idx  [N]        s32, 0 <= idx < R: anything else is a broken invariant (CheckFailure), never a clamp
/// out  [N, ...]
graph::Value gather_rows(graph::Emitter& e, const graph::Value& src, const graph::Value& idx);

}  // namespace deepinfer::ops
