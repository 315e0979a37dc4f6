// Gated activation between the two halves of an expert.
//
/// out[t, i] = bf16(((g / (1 + exp(-g))) * u) * w[t]),  g = min(gate, limit), u = clamp(up, -limit, limit)
///
/// gate  [num_tokens, I]  bf16
/// up    [num_tokens, I]  bf16
/// w     [num_tokens]     f32, optional: routing weight, applied before the rounding
/// out   [num_tokens, I]  bf16
/// Attribute limit: the clamps exist only if limit > 0; the gate is clamped from above only.
/// Numerics: fp32 with exp32, one rounding; NaN passes the clamps.   Errors: shape, dtype.
/// Threads: ctx.pool over tokens and column tiles.   Source: model.md 8, numerics.md 6, kernels-neuron.md 3.1, 8.2.
/// Original names: silu_and_mul_quant (activation part).
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

/// An empty `weight` leaves the factor out.
graph::Value swiglu(graph::Emitter& e, const graph::Value& gate, const graph::Value& up, double limit,
                    const graph::Value& weight = {});

}  // namespace deepinfer::ops
