// Router affinities of every expert.
//
/// out[t, e] = sqrt(softplus((sum_d x[t, d] * wg[e, d]) / temp)),  softplus(v) = v > 20 ? v : log1p(exp(v))
///
/// x    [T, D]  bf16
/// wg   [E, D]  bf16
/// out  [T, E]  f32, >= 0
/// Numerics: dot V16 (bf16 map) in fp32, one fp32 division; softplus and sqrt in double, each rounded to fp32 once.
/// Errors: shape, dtype, temp <= 0.   Threads: ctx.pool over experts.
/// Original names: moe_topk_gate (first half).   Source: numerics.md 6, 9; model.md 8.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value gate_scores(graph::Emitter& e, const graph::Value& x, const graph::Value& wg, double temp = 1.0);

}  // namespace deepinfer::ops
