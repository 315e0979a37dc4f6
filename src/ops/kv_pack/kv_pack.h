// Cache records: quantisation of whole rows into the bytes that the caches hold, and back.
//
// A record is one row with all its scales, data bytes first: it is stored and gathered as a unit (CS-03, CS-04).
//
//   kind  record                              bytes at the released size
//   swa   N e4m3fn codes, N/32 ue8m0          528 (N = 512)
//   ca    N/2 packed e2m1, N/16 e4m3fn        288 (N = 512)
//   ica   N/2 packed e2m1, N/32 ue8m0         68  (N = 128)
//
// Errors: shape, dtype, unknown kind, N not a multiple of the block.   Threads: ctx.pool over rows.
// Original names: fused_norm_rope_hadamard_cast_store_kvcache (its cast).
// Source: numerics.md 3, kernels-neuron.md 8.4.
#pragma once

#include <string_view>

#include "graph/emitter.h"
#include "tensor/numeric/range.h"

namespace deepinfer::ops {

/// rows[m] = codes(x[m]), scales(x[m])
///
/// x     [M, N]          bf16
/// rows  [M, row_bytes]  u8
/// `max` is the e4m3 range of the profile (448 or 224); ca and ica ignore it.
graph::Value kv_pack(graph::Emitter& e, const graph::Value& x, std::string_view kind,
                     double max = double{numeric::kE4M3FnMax});

/// The exact inverse of the encoding: rows [M, row_bytes] u8 -> bf16 [M, width].
graph::Value kv_unpack(graph::Emitter& e, const graph::Value& rows, std::string_view kind, std::int64_t width);

}  // namespace deepinfer::ops
