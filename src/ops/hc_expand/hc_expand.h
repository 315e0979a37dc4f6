// Return of a sublayer's output to the residual streams, which mix with each other on the way.
//
/// out[t, k, d] = bf16(post[t, k] y[t, d] + sum_j comb[t, j, k] x[t, j, d])
///
/// comb's first index is the input stream j, the second the output stream k: the sum runs over the FIRST index.
/// y        [num_tokens, D]     bf16
/// streams  [num_tokens, S, D]  bf16      post [num_tokens, S] f32      comb [num_tokens, S, S] f32
/// out      [num_tokens, S, D]  bf16; must not alias streams
/// Numerics: fp32, product post y, then an fma chain over ascending j, one rounding.   Errors: shape, dtype.
/// Threads: ctx.pool over tokens and column tiles.   Source: model.md 3, numerics.md 6, kernels-neuron.md 7.3.
/// Original names: hc_post.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

graph::Value hc_expand(graph::Emitter& e, const graph::Value& y, const graph::Value& streams, const graph::Value& post,
                       const graph::Value& comb);

}  // namespace deepinfer::ops
