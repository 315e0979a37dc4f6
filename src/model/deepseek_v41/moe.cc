// Mixture of experts: router, routed experts, shared expert, one rounding (model.md 8).
#include "model/deepseek_v41/forward.h"
#include "ops/elementwise/elementwise.h"
#include "ops/gate_dense/gate_dense.h"
#include "ops/gate_scores/gate_scores.h"
#include "ops/gate_topk/gate_topk.h"
#include "ops/moe_experts_dense/moe_experts_dense.h"
#include "ops/swiglu/swiglu.h"

namespace deepinfer::model::deepseek_v41 {

Value Forward::moe(const Moe& weights, std::int64_t index, std::int64_t top_k, const Value& x) {
  const std::int64_t t = num_tokens();
  const std::int64_t num_experts = weights.bias.tensor.type.shape[0];
  const Value scores = ops::gate_scores(e_.at("gate.scores"), x, e_.weight(weights.gate), config_.gate_temp);
  ops::GateTopkOperands gate{.scores = scores,
                             .bias = e_.weight(weights.bias),
                             .valid = host_s32("valid_token_mask", {t}, 0, 1),
                             .force = host_s32("gate_force_random", {t}, 0, 1),
                             .token_index = host_s32("token_index", {t}, 0, (1 << 24) - 1)};
  if (shape_.has_images) {
    gate.bias_vl = e_.weight(weights.bias_vl);
    gate.image = host_s32("image_mask", {t}, 0, 1);
  }
  const ops::GateTopk routing = ops::gate_topk(e_.at("gate.topk"), gate,
                                               {.k = top_k,
                                                .route_scale = config_.routed_scaling_factor,
                                                .layer = index,
                                                .hash_mul = ops::coprime_from(1597, num_experts),
                                                .hash_step = ops::coprime_from(61, num_experts)});
  const Value dense = ops::gate_dense(e_.at("gate.dense"), routing.ids, routing.weights, 0, num_experts);
  const QuantisedRows xq = quantise(x);
  const auto bank = [&](const Quantised& w) { return ops::ExpertMatrix{e_.weight(w.weight), e_.weight(w.scale)}; };
  const Value routed = ops::moe_experts_dense(e_.at("moe.routed"), {xq.codes, xq.scales, dense},
                                              {.w1 = bank(weights.w1), .w3 = bank(weights.w3), .w2 = bank(weights.w2)},
                                              config_.swiglu_limit, context_.modes.fp8_range);
  const Value g = linear("shared.w1", xq, weights.shared_w1);
  const Value u = linear("shared.w3", xq, weights.shared_w3);
  const Value shared = linear("moe.shared", quantise(ops::swiglu(e_, g, u, config_.swiglu_limit)), weights.shared_w2);
  const Value sum = ops::add(e_, routed, ops::convert(e_, shared, DType::kF32));
  return ops::convert(e_.at("moe.out"), sum, DType::kBF16);
}

}  // namespace deepinfer::model::deepseek_v41
