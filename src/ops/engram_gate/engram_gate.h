// Adds the looked-up n-gram value to every residual stream, scaled by how well the stream agrees with the row's key.
//
/// out[t, j] = bf16(h + g * value),  h = streams[t, j], key = kv[t, j], value = kv[t, S], w = wq[j] * wk[j]
/// g = sigma(copysign(sqrt(max(|d|, clamp)), d)),
/// d = (sum((h * w) * key) * (r(h) * r(key))) * D^-1/2,  r(v) = 1 / sqrt(mean(v^2) + eps), each stream by itself
///
/// streams  [num_tokens, S, D]      bf16
/// kv       [num_tokens, (S+1)*D]   bf16: S keys, then the value
/// wq, wk   [S, D]                  bf16
/// mask     [num_tokens]            s32: 0 = the token's streams pass through bit for bit (DEAD tokens)
/// out      [num_tokens, S, D]      bf16
/// Numerics: fp32; dot and squares V16 (bf16 map); sigma in double, rounded once; g * value is rounded before it is
/// added.   Errors: shape, dtype.   Threads: ctx.pool over (token, stream).   Source: model.md 4.5, numerics.md 6.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

struct EngramGateOperands {
  graph::Value streams;
  graph::Value kv;
  graph::Value wq;
  graph::Value wk;
  graph::Value mask;
};
graph::Value engram_gate(graph::Emitter& e, const EngramGateOperands& operands, double eps, double clamp = 1e-6);

}  // namespace deepinfer::ops
