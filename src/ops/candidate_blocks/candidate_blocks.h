// Candidate blocks: which runs of rows later indexer layers may score.
//
// A block's score is the largest score of its visible rows. The block of the newest visible row is always kept; the
// best of the others fill up to `keep`, ties to the lower block. A block all of whose scores are masked or NaN does not
// qualify. Both the kept set and its order are functions of the scores alone (model.md 7.3).
//
/// ids[t] = ascending ids of the min(keep, qualifying) best blocks of rows [0, visible[t])
///
/// scores   [T, R]      bf16 or f32, masked rows <= -1e30 (bf16: <= bf16(-1e30))
/// visible  [T]         s32, 0..R; rows beyond are never read; 0 gives count 0
/// ids      [T, keep']  s32, keep' = min(keep, ceil(R / block)); entries at or beyond count are 0
/// count    [T]         s32
/// Errors: shape, dtype, block or keep below 1.   Threads: ctx.pool over tokens.
/// Source: model.md 7.3, kernels-neuron.md 5.2.
#pragma once

#include "graph/emitter.h"
#include "ops/topk_select/topk_select.h"

namespace deepinfer::ops {

struct CandidateAttrs {
  std::int64_t block = 8;  ///< rows of a block
  std::int64_t keep = 1;   ///< blocks kept
};
Selection candidate_blocks(graph::Emitter& e, const graph::Value& scores, const graph::Value& visible,
                           const CandidateAttrs& attrs);

}  // namespace deepinfer::ops
