// Unquantised projections: bf16 activations times bf16 or fp32 weights.
//
/// out[t, n] = sum_k x[t, k] * w[n, k]
///
/// x    [T, K]  bf16
/// w    [N, K]  bf16 or f32
/// out  [T, N]  bf16 (one rounding) or f32
/// With fold_scale != 1 and bf16 output: bf16(bf16(sum) * float(fold_scale)), the second rounding of the reference.
/// Numerics: V16, bf16 map (f32 map when w is f32).   Errors: shape, dtype, fold_scale with f32 output.
/// Threads: ctx.pool over weight rows.   Original names: bf16_gemm_nt.   Source: numerics.md 5.2.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value linear_bf16(graph::Emitter& e, const graph::Value& x, const graph::Value& w, DType out,
                         double fold_scale = 1.0);

}  // namespace deepinfer::ops
