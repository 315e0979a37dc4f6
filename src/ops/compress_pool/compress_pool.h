// Compressor pooling at ratio 2: a softmax over the two gates of a token pair, per channel, weights their values.
//
// A ring in the root keeps (gate, kv) of recent tokens, so that a pair may be completed by a later step; rewriting a
// position (rollback of drafts) reproduces the same latent. All ring writes of a step precede its reads, so several
// tokens of one sequence see each other. Ratio 1 has no gate and needs no op (latent = bf16(kv)).
//
/// m = max(g0, g1);  e_i = exp(g_i - m);  w_i = e_i / (e0 + e1);  latent = bf16(fma(w1, kv1, w0 * kv0))
///
/// kv, gate   [T, C]  f32
/// root       [A, B]  u8, updated in place. Record (slot, pos): bytes base + pos*8*C of row slot, the C gates and then
///                    the C kv values in f32; 0 <= pos < rows
/// slot, pos  [T]     s32: ring address of token t
/// prev_pos   [T]     s32: ring address (same slot) of the position before it; read for odd tokens only
/// odd        [T]     s32: 1 = token t completes a pair
/// latent     [T, C]  bf16, zero for other tokens
/// Numerics: numerics.md 6 (exp32, IEEE divisions, one fma, one rounding).   Errors: shape, dtype, ring outside the
/// root. An address out of range is a CheckFailure.   Threads: ctx.pool over tokens.
/// Equal addresses in one step: the later token wins.   Source: kernels-neuron.md 6, model.md 7.1.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

/// Ring of one owner layer inside every root row.
struct RingView {
  std::int64_t owner = 0;  ///< layer that writes it; for reports
  std::int64_t base = 0;   ///< byte of record 0
  std::int64_t rows = 1;   ///< records
};

struct PoolResult {
  graph::Value latent;
  graph::Value root;
};

struct CompressPoolOperands {
  graph::Value kv, gate, root, slot, pos, prev_pos, odd;
};
PoolResult compress_pool(graph::Emitter& e, const CompressPoolOperands& in, const RingView& ring);

/// Ragged prefill form; a pair's latent equals compress_pool's bit for bit.
///
/// Rows are numbered 0..S-1 = history records (hist_slot[i], hist_pos[i]), read before anything is stored, and
/// S + t = token t of this call. Latent i pools rows first[i] (the even position) and second[i]. Then token row
/// store_row[i] (0..T-1) is stored at (store_slot[i], store_pos[i]).
///
/// hist_slot, hist_pos [S] s32;  first, second [M] s32;  store_row, store_slot, store_pos [n] s32
/// latent [M, C] bf16
struct CompressPoolVarlenOperands {
  graph::Value kv, gate, root, hist_slot, hist_pos, first, second, store_row, store_slot, store_pos;
};
PoolResult compress_pool_varlen(graph::Emitter& e, const CompressPoolVarlenOperands& in, const RingView& ring);

/// The stores of compress_pool_varlen alone, for a call that completes no pair. Returns root'.
struct CompressStoreOperands {
  graph::Value kv, gate, root, store_row, store_slot, store_pos;
};
graph::Value compress_store(graph::Emitter& e, const CompressStoreOperands& in, const RingView& ring);

}  // namespace deepinfer::ops
