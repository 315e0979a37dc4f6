// Exact inverse of quant_act's encoding.
//
/// out[..., n] = code(n) * scale(n / block)
///
/// codes   [..., N]        u8 e4m3fn  or  [..., N/2] packed e2m1
/// scales  [..., N/block]  u8
/// out     [..., N]        bf16, exact
/// Errors: shape, dtype, unknown format.   Threads: ctx.pool over rows.   Source: numerics.md 1, 3.
#pragma once

#include "ops/quant_act/quant_act.h"

namespace deepinfer::ops {

graph::Value dequant(graph::Emitter& e, const Quantised& x, QuantFormat format);

}  // namespace deepinfer::ops
