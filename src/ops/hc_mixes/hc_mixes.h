// Hyper-connection coefficients of one site: how the streams collapse into the sublayer input (pre), how its output
// returns to them (post), and how they mix with each other (comb).
//
/// m = (fn . x) * r,  r = 1 / sqrt(mean(x^2) + norm_eps) over all S * D values of a token, applied after the dot
/// pre[j]     = sigma(m[j] * scale[0] + base[j]) + eps
/// post[j]    = 2 sigma(m[S+j] * scale[1] + base[S+j])
/// comb[j, k] = Sinkhorn(m[2S+S j+k] * scale[2] + base[2S+S j+k]): softmax over k + eps, columns / (sum + eps), then
///              iters - 1 times rows and columns. Index order [in, out] (hc_expand).
///
/// streams  [num_tokens, S, D]    bf16
/// fn       [(2+S)*S, S*D]        f32      scale [3] f32      base [(2+S)*S] f32
/// pre      [num_tokens, S]       f32      post  [num_tokens, S] f32      comb [num_tokens, S, S] f32
/// Numerics: dots and sum of squares by the HC chunk rule; sigma in double, rounded once; Sinkhorn fp32, exp32, sums
/// ascending.   Errors: shape, dtype, iters < 1.   Threads: ctx.pool over chunks of 128 columns, then over tokens.
/// Source: model.md 3, numerics.md 5.2, kernels-neuron.md 7.1.   Original names: hc_split_sinkhorn, mhc_pre.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

struct HcWeights {
  graph::Value fn;
  graph::Value scale;
  graph::Value base;
};
struct HcOptions {
  std::int64_t iters = 20;
  double eps = 1e-6;        ///< hc_eps
  double norm_eps = 1e-20;  ///< epsilon of the mean square
};
struct HcMixes {
  graph::Value pre;
  graph::Value post;
  graph::Value comb;
};
HcMixes hc_mixes(graph::Emitter& e, const graph::Value& streams, const HcWeights& weights, const HcOptions& options);

}  // namespace deepinfer::ops
