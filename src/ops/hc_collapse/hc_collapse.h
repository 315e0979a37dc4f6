// Weighted sum of the residual streams: the input of a sublayer.
//
/// out[t, d] = bf16(((p[t, 0] x[t, 0, d] + p[t, 1] x[t, 1, d]) + ...))
///
/// streams  [num_tokens, S, D]  bf16
/// mix      [num_tokens, S]     f32 (`pre` of hc_mixes or hc_init)
/// out      [num_tokens, D]     bf16
/// Numerics: fp32, one product and then an fma chain over ascending streams, one rounding.   Errors: shape, dtype.
/// Threads: ctx.pool over tokens and column tiles.   Source: model.md 3, numerics.md 6, kernels-neuron.md 7.2.
/// Original names: hc_pre (apply part).
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value hc_collapse(graph::Emitter& e, const graph::Value& streams, const graph::Value& mix);

}  // namespace deepinfer::ops
