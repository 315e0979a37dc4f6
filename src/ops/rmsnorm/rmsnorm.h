// RMSNorm: one statistic per row, one rounding at the end.
//
/// out[t, n] = bf16((x[t, n] * r_t) * gamma[n]),  r_t = 1 / sqrt(sum_n x[t, n]^2 / N + eps)
///
/// x      [num_tokens, N]  bf16
/// gamma  [N]              bf16
/// out    [num_tokens, N]  bf16
/// Numerics: sum of squares V16 (bf16 map), fp32 division and root, order (x*r)*gamma.   Errors: shape or dtype.
/// Threads: ctx.pool over rows.   Source: numerics.md 6, kernels-neuron.md 8.1.
/// Original names: rmsnorm, fused_norm (tile_kernels).
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value rmsnorm(graph::Emitter& e, const graph::Value& x, const graph::Value& gamma, double eps);

}  // namespace deepinfer::ops
