#include "model/deepseek_v41/forward.h"

#include <fmt/format.h>

#include "ops/embed_rows/embed_rows.h"
#include "ops/engram_gate/engram_gate.h"
#include "ops/hc_collapse/hc_collapse.h"
#include "ops/hc_expand/hc_expand.h"
#include "ops/hc_init/hc_init.h"
#include "ops/hc_mixes/hc_mixes.h"
#include "ops/lm_head/lm_head.h"
#include "ops/primitives/primitives.h"
#include "ops/quant_act/quant_act.h"
#include "ops/rmsnorm/rmsnorm.h"
#include "ops/stream_mean/stream_mean.h"

namespace deepinfer::model::deepseek_v41 {

Forward::Forward(graph::Emitter& e, const ModelContext& context, const StepShape& shape)
    : e_(e), context_(context), config_(*context.config), shape_(shape), rows_{"", &shape_.rows} {}

void Forward::open_roots() {
  blocks = e_.state("kv_blocks", context_.layout->blocks_type());
  states = e_.state("kv_states", context_.layout->states_type());
}

Value Forward::host(std::string_view name, const TensorType& type, std::optional<graph::InputRange> range) {
  return e_.host(rows_.prefix + std::string(name), type, range);
}

Value Forward::host_s32(std::string_view name, Shape shape, std::int64_t lo, std::int64_t hi) {
  return host(name, {DType::kS32, shape}, graph::InputRange{lo, hi});
}

QuantisedRows Forward::quantise(const Value& x) {
  return ops::quant_act(e_, x, ops::QuantFormat::kAct32, context_.modes.fp8_range);
}

Value Forward::linear(std::string_view name, const QuantisedRows& x, const Quantised& w) {
  const auto order = context_.modes.fp8_order == "v16" ? ops::BlockOrder::kV16 : ops::BlockOrder::kReferenceBlocks;
  return ops::linear_blockquant(e_.at(name), x, {.w = e_.weight(w.weight), .ws = e_.weight(w.scale)}, {.order = order});
}

void Forward::prologue() {
  open_roots();
  const TensorType type{DType::kBF16, {num_tokens(), config_.hidden_size}};
  Value x;
  if (shape_.has_embeds) {
    x = host("inputs_embeds", type);
  } else {
    const Value ids = host_s32("input_ids", {num_tokens()}, 0, config_.vocab_size - 1);
    x = ops::embed_rows(e_.at("embed"), e_.weight(context_.weights->embed), ids);
  }
  const ops::HcInit init = ops::hc_init(e_, x, config_.hc_mult);
  streams = init.streams;
  pre = init.pre;
}

void Forward::site(std::string_view name, const HcSite& weights, const Sublayer& sublayer) {
  const graph::PathScope path(e_, name);
  const auto mix =
      ops::hc_mixes(e_.at("mixes"), streams, {e_.weight(weights.fn), e_.weight(weights.scale), e_.weight(weights.base)},
                    {.iters = config_.hc_sinkhorn_iters, .eps = config_.hc_eps, .norm_eps = config_.rms_norm_eps});
  const Value y = sublayer();
  streams = ops::hc_expand(e_.at("expand"), y, streams, mix.post, mix.comb);
  pre = mix.pre;
}

Value Forward::collapsed_norm(const WeightRef& gamma) {
  const Value x = ops::hc_collapse(e_.at("collapse"), streams, pre);
  return ops::rmsnorm(e_.at("norm"), x, e_.weight(gamma), config_.rms_norm_eps);
}

void Forward::layer(std::int64_t index) {
  if (config_.has_engram(index)) engram(index);
  if (config_.is_draft_tap(index)) record_tap(index);
  block(index);
}

void Forward::block(std::int64_t index) {
  const Layer& layer = context_.weights->layers[static_cast<std::size_t>(index)];
  const graph::PathScope path(e_, fmt::format("layers.{}", index));
  Value y;
  if (shape_.cut_tail && index == config_.kv_source_layer_ids.back()) {
    const graph::PathScope attn(e_, "attn");
    y = attention_cut(layer, index, collapsed_norm(layer.attn_norm));
    if (!y) return;  // no row of this step belongs to the tail
  }
  site("attn", layer.hc_attn, [&] { return y ? y : attention(layer, index, collapsed_norm(layer.attn_norm)); });
  site("ffn", layer.hc_ffn,
       [&] { return moe(layer.ffn, index, config_.num_experts_per_tok, collapsed_norm(layer.ffn_norm)); });
}

void Forward::engram(std::int64_t index) {
  const Layer& layer = context_.weights->layers[static_cast<std::size_t>(index)];
  const graph::PathScope path(e_, fmt::format("layers.{}.engram", index));
  const Value rows = host(fmt::format("engram_x.{}", index), {DType::kBF16, {num_tokens(), config_.engram_width()}});
  const Value mask = host_s32("engram_mask", {num_tokens()}, 0, 1);
  const Value kv = linear("kv", quantise(rows), layer.engram->wkv);
  streams = ops::engram_gate(e_.at("out"),
                             {.streams = streams,
                              .kv = kv,
                              .wq = e_.weight(layer.engram->q_weight),
                              .wk = e_.weight(layer.engram->k_weight),
                              .mask = mask},
                             config_.rms_norm_eps);
}

void Forward::record_tap(std::int64_t index) {
  taps_.push_back(ops::stream_mean(e_.at(fmt::format("layers.{}.tap", index)), streams));
}

void Forward::cut_to_tail() {
  rows_ = {"tail.", &shape_.tail};
  if (num_tokens() == 0) return;
  const Value index = host_s32("rows", {num_tokens()}, 0, shape_.rows.num_tokens - 1);
  streams = ops::gather_rows(e_, streams, index);
  pre = ops::gather_rows(e_, pre, index);
  for (Value& tap : taps_) tap = ops::gather_rows(e_, tap, index);
}

Value Forward::epilogue() {
  Value s = streams;
  Value p = pre;
  if (!shape_.is_decode()) {
    if (shape_.logit_rows == 0 || num_tokens() == 0) return {};
    const Value index = host_s32("logit_rows", {shape_.logit_rows}, 0, num_tokens() - 1);
    s = ops::gather_rows(e_, s, index);
    p = ops::gather_rows(e_, p, index);
  }
  const Value y = ops::hc_collapse(e_.at("final.collapse"), s, p);
  const Value norm = ops::rmsnorm(e_.at("final.norm"), y, e_.weight(context_.weights->norm), config_.rms_norm_eps);
  return ops::lm_head(e_.at("logits"), norm, e_.weight(context_.weights->head));
}

Value Forward::main_hidden() {
  if (!context_.weights->draft || num_tokens() == 0) return {};
  return taps_.size() == 1 ? taps_[0] : ops::concat(e_.at("main_hidden"), taps_, 1);
}

void Forward::condition_drafts(const Value& main_hidden) {
  if (!main_hidden) return;
  const Draft& draft = *context_.weights->draft;
  const Value projected = linear("main_proj", quantise(main_hidden), draft.main_proj);
  main_x_ = ops::rmsnorm(e_.at("main_x"), projected, e_.weight(draft.main_norm), config_.rms_norm_eps);
  const QuantisedRows x = quantise(main_x_);
  for (std::size_t s = 0; s < context_.weights->stages.size(); ++s) {
    const graph::PathScope path(e_, fmt::format("mtp.{}.main", s));
    const auto layer = config_.num_hidden_layers + static_cast<std::int64_t>(s);
    store_window(context_.layout->swa(layer), window_records(context_.weights->stages[s].attn, x, false));
  }
}

}  // namespace deepinfer::model::deepseek_v41
