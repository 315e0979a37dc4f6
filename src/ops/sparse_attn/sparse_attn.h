// Sparse attention: every head of a token over one list of shared K = V rows, with a per-head sink.
//
// The list of token t has W window entries, of which wcount[t] hold a row (holes at their end, or in front), directly
// followed by the first scount[t] selected rows. It is cut into blocks of 64 entries, holes included, because the
// running maximum of a block decides how its weights round to bf16. Rows beyond the counts are never read.
//
/// s_i = (q . k_i) * scale;  p_i = exp(s_i - m);  out = bf16(sum bf16(p_i) v_i / (sum p_i + exp(sink - m)))
///
/// q         [T, H, C]              bf16, C % 32 == 0
/// window    [T*W, C + C/32]        u8 (swa records); entry i of token t is row t*W + i, so with holes in front the
///                                  valid rows are the last wcount[t]
/// wcount    [T]                    s32, 0..W
/// selected  [T*Ks, C/2 + C/16]     u8 (ca records), optional together with scount
/// scount    [T]                    s32, 0..Ks
/// sink      [H]                    f32, a raw logit: not scaled, no value, counted once
/// out       [T, H, C]              bf16; exactly 0 without any valid entry
/// Numerics: numerics.md 7 (scores V16 bf16 map; l by 8 chains and the tree; o fma ascending; bf16(p)).
/// Errors: shape, dtype, unknown `holes`. A count out of range is a CheckFailure.
/// Threads: ctx.pool over rows to decode, then over heads.   Source: numerics.md 7, kernels-neuron.md 4.
/// Original names: flash_mla_with_kvcache, flash_mla_sparse_fwd.
#pragma once

#include "graph/emitter.h"
#include "ops/page_view.h"

namespace deepinfer::ops {

/// Where the missing entries of the window part lie. kEnd is the canonical list; kFront is the reference's decode.
enum class Holes : std::uint8_t { kEnd, kFront };

struct SparseAttnAttrs {
  double scale = 1;          ///< C^-1/2
  std::int64_t window = 0;   ///< W
  Holes holes = Holes::kEnd;
};

/// `selected` and `scount` are both given or both empty.
struct SparseAttnOperands {
  graph::Value q, window, wcount, selected, scount, sink;
};
graph::Value sparse_attn(graph::Emitter& e, const SparseAttnOperands& in, const SparseAttnAttrs& attrs);

/// The same with rows addressed in place (ragged prefill); a row's result equals sparse_attn's bit for bit.
///
/// window_buf  [N, C + C/32]  u8: window entry i < wcount[t] of token t is row win_index[t, i] (first wcount indices,
///                            whatever `holes` says; with kFront the list has W - wcount holes before them)
/// win_index   [T, W]         s32, entries beyond wcount are ignored
/// root        [A, B]         u8, ca records as `pages` says; optional with block_table, seq, ids and scount
/// block_table [S, Bt]        s32;  seq [T] s32: row of block_table
/// ids         [T, Ks]        s32 row ids, entries beyond scount are ignored
struct SparseAttnVarlenOperands {
  graph::Value q, window_buf, win_index, wcount, root, block_table, seq, ids, scount, sink;
};
graph::Value sparse_attn_varlen(graph::Emitter& e, const SparseAttnVarlenOperands& in, const SparseAttnAttrs& attrs,
                                const PageView& pages = {});

}  // namespace deepinfer::ops
