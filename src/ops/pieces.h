// Parallel loops whose threads need scratch: the range is cut into one piece a thread, and each piece knows its number,
// so that the kernel can take one scratch slice per piece before the loop starts.
#pragma once

#include <cstdint>

#include "graph/op_def.h"

namespace deepinfer::ops {

inline std::int64_t num_pieces(const graph::KernelContext& ctx) { return ctx.pool->num_threads(); }

/// Calls fn(piece, begin, end) for every piece 0..num_pieces(ctx)-1 of [0, range); a piece may be empty.
template <typename F>
void for_pieces(const graph::KernelContext& ctx, std::int64_t range, const F& fn) {
  const std::int64_t pieces = num_pieces(ctx);
  ctx.pool->parallel_for(pieces, 1, [&](std::int64_t first, std::int64_t last) {
    for (std::int64_t p = first; p < last; ++p) fn(p, range * p / pieces, range * (p + 1) / pieces);
  });
}

}  // namespace deepinfer::ops
