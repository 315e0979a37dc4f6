// The implementations behind the two OpDefs, and the attention core over decoded rows that both share.
#pragma once

#include <cstdint>
#include <span>

#include "graph/op_def.h"

namespace deepinfer::ops {

/// List entries [begin, end) hold rows.
struct EntryRun {
  std::int64_t begin;
  std::int64_t end;
};

/// One token. Decoded rows lie at their list position; runs are ascending and disjoint, all other entries are holes.
struct AttnTask {
  const BF16* q;                   ///< [heads, width]
  const float* rows;               ///< [list length, width]; holes are never read
  const float* sink;               ///< [heads]
  std::span<const EntryRun> runs;
  std::int64_t heads;
  std::int64_t width;
  float scale;
};

/// Floats of `work` that attend() needs.
std::int64_t attend_work_floats(std::int64_t heads, std::int64_t width);
/// out[heads, width] by numerics.md 7; heads are split over ctx.pool.
void attend(const AttnTask& task, const graph::KernelContext& ctx, float* work, BF16* out);

void sparse_attn_host(const graph::OpCall& call);
void sparse_attn_reference(const graph::OpCall& call);
void sparse_attn_varlen_host(const graph::OpCall& call);
void sparse_attn_varlen_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
