// Routing: which k experts a token uses and with what weight.
//
/// The k largest of scores[t] + bias (bias_vl for image tokens), ties to the lower expert id; weights from the UNBIASED
/// scores: w = score / (sum + 1e-20) * route_scale. Pairs are sorted by ascending id, which is the order in which
/// expert outputs are summed everywhere.
///
/// scores       [num_tokens, E]  f32       bias   [E] f32
/// valid        [num_tokens]     s32: 0 = padding row: ids 0, weights 0
/// force        [num_tokens]     s32: 1 = hash routing for balance tests, weights route_scale / k
/// token_index  [num_tokens]     s32: position in the step, for hash routing
/// bias_vl      [E] f32 and image [num_tokens] s32 (1 = image token): both or neither
/// ids, weights [num_tokens, k]  s32, f32
/// Hash routing: h = (hash_mul * (token_index mod 4096) + hash_add * layer + 17) mod E, id_j = (h + hash_step * j) mod
/// E. Numerics: fp32; sum in ascending id; divided only if renorm and k > 1.   Threads: ctx.pool over tokens. Errors:
/// shape, dtype, k outside [1, E], a hash_step that repeats ids.   Source: model.md 8, graph.md CS-13. Original names:
/// moe_topk_gate, moe_fused_gate.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

struct GateTopkOperands {
  graph::Value scores;
  graph::Value bias;
  graph::Value valid;
  graph::Value force;
  graph::Value token_index;
  graph::Value bias_vl;  ///< empty with `image`
  graph::Value image;
};
struct GateTopkOptions {
  std::int64_t k;
  double route_scale;
  bool renorm = true;
  std::int64_t layer = 0;
  std::int64_t hash_mul = 1597;
  std::int64_t hash_step = 61;
};
struct GateTopk {
  graph::Value ids;
  graph::Value weights;
};
GateTopk gate_topk(graph::Emitter& e, const GateTopkOperands& operands, const GateTopkOptions& options);

/// Smallest value >= start that is coprime to num_experts: hash_mul and hash_step for other expert counts than 384.
std::int64_t coprime_from(std::int64_t start, std::int64_t num_experts);

}  // namespace deepinfer::ops
