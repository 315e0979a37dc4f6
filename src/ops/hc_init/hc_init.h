// Start of the residual streams: every stream is the embedding, and the first site collapses stream 0 alone.
//
/// streams[t, s, d] = x[t, d],  pre[t, :] = (1, 0, ..., 0)
///
/// x        [num_tokens, D]           bf16
/// streams  [num_tokens, streams, D]  bf16
/// pre      [num_tokens, streams]     f32
/// Numerics: exact.   Errors: shape, dtype, streams < 1.   Threads: ctx.pool over rows.
/// Source: model.md 2, graph.md 2.2.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

struct HcInit {
  graph::Value streams;
  graph::Value pre;
};
HcInit hc_init(graph::Emitter& e, const graph::Value& x, std::int64_t streams);

}  // namespace deepinfer::ops
