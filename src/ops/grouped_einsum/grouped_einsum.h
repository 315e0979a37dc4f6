// First half of the attention output projection: every group of heads has its own FP8 matrix, activations stay bf16.
//
/// out[t, g, r] = sum_k x[t, g, k] * dequant(w)[g * R + r, k]
///
/// x    [T, G, Kg]               bf16, not quantised; Kg a multiple of kb, kb of 32
/// w    [G*R, Kg]                e4m3fn
/// ws   [ceil(G*R/nb), Kg/kb]    ue8m0
/// out  [T, G, R]                bf16, one rounding
/// Numerics: x' = x * s_w (exact), V16 e4m3 map.   Errors: shape or dtype.   Threads: ctx.pool over weight rows.
/// Original names: fp8_einsum("bhr,hdr->bhd"), wo_a.   Source: numerics.md 5.2, kernels-neuron.md 2.4 (act = bf16).
#pragma once

#include "ops/linear_blockquant/linear_blockquant.h"

namespace deepinfer::ops {

/// weight.format must be kE4M3.
graph::Value grouped_einsum(graph::Emitter& e, const graph::Value& x, const BlockWeight& weight);

}  // namespace deepinfer::ops
