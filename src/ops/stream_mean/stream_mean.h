// Mean of the residual streams: what a draft layer is conditioned on.
//
/// out[t, d] = bf16((x[t, 0, d] + x[t, 1, d] + ...) / S)
///
/// streams  [num_tokens, S, D]  bf16
/// out      [num_tokens, D]     bf16
/// Numerics: fp32 sum over ascending streams, fp32 division, one rounding.   Errors: shape, dtype.
/// Threads: ctx.pool over tokens.   Source: graph.md 2.2, speculative.md.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value stream_mean(graph::Emitter& e, const graph::Value& streams);

}  // namespace deepinfer::ops
