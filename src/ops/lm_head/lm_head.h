// Logits: the final hidden rows times the vocabulary matrix.
//
/// out[t, v] = sum_d x[t, d] * w[v, d]
///
/// x    [T, D]  bf16 (after the final norm)
/// w    [V, D]  bf16
/// out  [T, V]  f32
/// Numerics: V16, bf16 map, no rounding.   Errors: shape or dtype.   Threads: ctx.pool over vocabulary rows.
/// Source: numerics.md 5.2, 6.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value lm_head(graph::Emitter& e, const graph::Value& x, const graph::Value& w);

}  // namespace deepinfer::ops
