// Quantisation of activations in blocks along the last axis.
//
/// codes[..., n] = encode(clamp(x[..., n] / s)), s = the scale of block n / block
///
/// x       [..., N]        bf16, N % block == 0
/// codes   [..., N]        u8 e4m3fn   or  [..., N/2] packed e2m1 (low nibble = even index)
/// scales  [..., N/block]  u8 ue8m0    or  e4m3fn (e2m1 in blocks of 16)
/// A block with NaN or infinity gets a NaN scale.
/// Numerics: numerics.md 3, bit for bit.   Errors: shape, dtype, unknown format.   Threads: ctx.pool over rows.
/// Original names: act_quant, fp4_act_quant.   Source: numerics.md 3, 4.
#pragma once

#include "graph/emitter.h"
#include "ops/quant_act/quant_format.h"
#include "tensor/numeric/range.h"

namespace deepinfer::ops {

/// Codes with their scales, as the quantised products take them.
struct Quantised {
  graph::Value codes;
  graph::Value scales;
};

/// `max`: the e4m3 range, 448 or 224 (profile trn2_224); ignored by the fp4 formats.
Quantised quant_act(graph::Emitter& e, const graph::Value& x, QuantFormat format,
                    double max = double{numeric::kE4M3FnMax});

/// The attributes fmt, block and scale of a format.
graph::Attrs format_attrs(QuantFormat format);

}  // namespace deepinfer::ops
