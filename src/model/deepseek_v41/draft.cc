// The DSpark draft: blocks over the ring rows and all rows of the draft block, and the Markov correction
// (speculative.md 1.3).
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "model/deepseek_v41/forward.h"
#include "ops/elementwise/elementwise.h"
#include "ops/embed_rows/embed_rows.h"
#include "ops/hc_collapse/hc_collapse.h"
#include "ops/hc_init/hc_init.h"
#include "ops/linear_bf16/linear_bf16.h"
#include "ops/lm_head/lm_head.h"
#include "ops/primitives/primitives.h"
#include "ops/rmsnorm/rmsnorm.h"
#include "ops/sparse_attn/sparse_attn.h"
#include "ops/state_store/state_store.h"

namespace deepinfer::model::deepseek_v41 {
namespace {

StepShape block_shape(const checkpoint::ModelConfig& config, const DraftShape& shape) {
  StepShape step;
  step.phase = Phase::kDecode;
  step.rows.num_tokens = shape.num_requests * draft_block(config);
  step.window_span = config.sliding_window + draft_block(config);
  return step;
}

}  // namespace

DraftForward::DraftForward(graph::Emitter& e, const ModelContext& context, const DraftShape& shape)
    : shape_(shape),
      step_(block_shape(*context.config, shape)),
      forward_(e, context, step_),
      e_(e),
      context_(context) {}

void DraftForward::prologue() {
  forward_.states = e_.state("kv_states", context_.layout->states_type());
  const Value ids = forward_.host_s32("input_ids", {step_.rows.num_tokens}, 0, context_.config->vocab_size - 1);
  const Value x = ops::embed_rows(e_.at("mtp.embed"), e_.weight(context_.weights->embed), ids);
  auto init = ops::hc_init(e_, x, context_.config->hc_mult);
  forward_.streams = init.streams;
  forward_.pre = init.pre;
}

Value DraftForward::attention(const Attention& attn, std::int64_t index, const Value& x) {
  const checkpoint::ModelConfig& config = *context_.config;
  const std::int64_t num_rows = step_.rows.num_tokens;
  const std::int64_t ring_rows = shape_.num_requests * config.sliding_window;
  const QuantisedRows xq = forward_.quantise(x);
  const Value qa = forward_.linear("wq_a", xq, attn.wq_a);
  const Value qr = ops::rmsnorm(e_.at("qr"), qa, e_.weight(attn.q_norm), config.rms_norm_eps);
  const Value heads = ops::reshape(e_, forward_.linear("wq_b", forward_.quantise(qr), attn.wq_b),
                                   {num_rows, config.num_attention_heads, config.head_dim});
  const ops::RopeTables tables = forward_.rope_tables(false);
  const Value q = ops::rope(e_.at("q"), heads, tables);
  const Value own = forward_.window_records(attn, xq, false);
  const kv::CacheView& view = context_.layout->swa(config.num_hidden_layers + index);
  const std::int64_t slots = context_.layout->params().num_state_slots;
  const Value ring = ops::state_gather(e_.at("ring"), forward_.states,
                                       {forward_.host_s32("ring_slot", {ring_rows}, 0, slots - 1),
                                        forward_.host_s32("ring_pos", {ring_rows}, 0, view.rows - 1)},
                                       state_view(view));
  const Value entries = forward_.host_s32("window_index", {num_rows * step_.window_span}, 0, ring_rows + num_rows - 1);
  const Value window = ops::gather_rows(e_.at("window"), ops::concat(e_, std::array{ring, own}, 0), entries);
  const Value o =
      ops::sparse_attn(e_.at("o"),
                       {.q = q,
                        .window = window,
                        .wcount = forward_.host_s32("window_count", {num_rows}, 0, step_.window_span),
                        .sink = e_.weight(attn.attn_sink)},
                       {.scale = 1.0 / std::sqrt(static_cast<double>(config.head_dim)), .window = step_.window_span});
  return forward_.project_out(attn, o, false);
}

void DraftForward::stage(std::int64_t index) {
  const Layer& stage = context_.weights->stages[static_cast<std::size_t>(index)];
  const graph::PathScope path(e_, fmt::format("mtp.{}", index));
  forward_.site("attn", stage.hc_attn,
                [&] { return attention(stage.attn, index, forward_.collapsed_norm(stage.attn_norm)); });
  forward_.site("ffn", stage.hc_ffn, [&] {
    return forward_.moe(stage.ffn, context_.config->num_hidden_layers + index,
                        context_.config->dspark_num_experts_per_tok, forward_.collapsed_norm(stage.ffn_norm));
  });
}

DraftForward::Result DraftForward::epilogue() {
  const Value y = ops::hc_collapse(e_.at("mtp.collapse_final"), forward_.streams, forward_.pre);
  const Value norm =
      ops::rmsnorm(e_.at("mtp.norm"), y, e_.weight(context_.weights->draft->norm), context_.config->rms_norm_eps);
  return {y, ops::lm_head(e_.at("draft.raw_logits"), norm, e_.weight(context_.weights->head))};
}

std::pair<Value, Value> markov_step(graph::Emitter& e, const ModelContext& context, std::int64_t num_requests) {
  const checkpoint::ModelConfig& config = *context.config;
  const Draft& draft = *context.weights->draft;
  const Value previous =
      e.host("markov.previous", {DType::kS32, {num_requests}}, graph::InputRange{0, config.vocab_size - 1});
  const Value raw = e.host("markov.raw_logits", {DType::kF32, {num_requests, config.vocab_size}});
  const Value hidden = e.host("markov.hidden", {DType::kBF16, {num_requests, config.hidden_size}});
  const Value row = ops::embed_rows(e.at("markov.embed"), e.weight(draft.markov_embed), previous);
  const Value bias = ops::linear_bf16(e.at("markov.head"), row, e.weight(draft.markov_head), DType::kF32);
  const Value logits = ops::add(e.at("draft.logits"), raw, bias);
  const Value confidence = ops::linear_bf16(e.at("draft.confidence"), ops::concat(e, std::array{hidden, row}, 1),
                                            e.weight(draft.confidence), DType::kF32);
  return {logits, confidence};
}

}  // namespace deepinfer::model::deepseek_v41
