// Index scores: how well every visible compressed row answers a query, summed over the indexer's heads.
//
// Queries and keys are e2m1 with one ue8m0 scale per 32 columns, so each group of a dot is an exact integer; only the
// precision of the head sum is a choice, and it decides the ranking (bf16 scores tie often). Keys are read in place
// through the page table. Rows at or beyond visible[t], and rows outside the candidate blocks when those are given, are
// not computed and have the score -1e30 (bf16 results: bf16(-1e30)).
//
/// score[t, j] = sum_h relu(q_h . k_j) * weights[t, h]
///
/// q           [T, Hi*Ci/2]   u8 packed e2m1, head-major; Ci % 32 == 0
/// qs          [T, Hi*Ci/32]  u8 ue8m0
/// root        [A, B]         u8: pages with `ica` records (Ci/2 code bytes, Ci/32 scale bytes) as PageView says
/// block_table [T, Bt]        s32: page of rows [i*rows, (i+1)*rows) of token t
/// weights     [T, Hi]        bf16
/// visible     [T]            s32, 0..R;  R = Bt * rows
/// candidates  [T, Nb]        s32 block ids, optional with ccount [T] s32 (only the first ccount are read)
/// out         [T, R]         bf16 (kOfficial, kBf16Fma4) or f32 (kF32)
/// Numerics: numerics.md 6.1; kBf16Fma4: original-kernels.md 2.4.   Errors: shape, dtype, unknown precision.
/// Threads: ctx.pool over pieces of 64 rows.   Source: kernels-neuron.md 5.1.
/// Original names: fp8_fp4_paged_mqa_logits, fp8_fp4_paged_sparse_mqa_logits.
#pragma once

#include "graph/emitter.h"
#include "ops/page_view.h"

namespace deepinfer::ops {

/// The `index_scores` mode of numerics.md 6.1.
enum class IndexPrecision : std::uint8_t {
  kOfficial,  ///< dot, relu * weight and the sum rounded to bf16; the sum in fp32
  kF32,       ///< fp32 throughout, 8 chains
  kBf16Fma4,  ///< bf16 fused multiply-adds in four chains
};

struct IndexScoreAttrs {
  std::int64_t heads = 1;  ///< Hi
  PageView pages;
  IndexPrecision precision = IndexPrecision::kOfficial;
  std::int64_t block = 8;  ///< rows of a candidate block
};

/// `candidates` and `ccount` are both given or both empty; `seq` belongs to the varlen form only.
struct IndexScoreOperands {
  graph::Value q, qs, root, block_table, seq, weights, visible, candidates, ccount;
};
graph::Value index_score(graph::Emitter& e, const IndexScoreOperands& in, const IndexScoreAttrs& attrs);

/// The same with block_table [S, Bt] and seq s32[T], the table row of each token (ragged prefill); equal bits.
graph::Value index_score_varlen(graph::Emitter& e, const IndexScoreOperands& in, const IndexScoreAttrs& attrs);

}  // namespace deepinfer::ops
