// Compressed sparse attention: compressor, index keys, scores, candidates, selection (model.md 7).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "model/deepseek_v41/forward.h"
#include "ops/candidate_blocks/candidate_blocks.h"
#include "ops/compress_pool/compress_pool.h"
#include "ops/index_score/index_score.h"
#include "ops/kv_pack/kv_pack.h"
#include "ops/linear_bf16/linear_bf16.h"
#include "ops/page_address/page_address.h"
#include "ops/primitives/primitives.h"
#include "ops/quant_act/quant_act.h"
#include "ops/rmsnorm/rmsnorm.h"
#include "ops/topk_select/topk_select.h"

namespace deepinfer::model::deepseek_v41 {
namespace {

ops::IndexPrecision index_precision(const std::string& mode) {
  if (mode == "fp32") return ops::IndexPrecision::kF32;
  return mode == "bf16_fma4" ? ops::IndexPrecision::kBf16Fma4 : ops::IndexPrecision::kOfficial;
}

}  // namespace

// Un-normed latent rows: bf16 [rows, C]; empty when no group completes in a prefill step.
Value Forward::pooled_latent(const Compressor& weights, std::int64_t index, const Value& x) {
  const std::int64_t ratio = config_.ratio(index);
  if (ratio == 1) return ops::linear_bf16(e_.at("wkv"), x, e_.weight(weights.wkv), DType::kBF16);
  const Value kv = ops::linear_bf16(e_.at("wkv"), x, e_.weight(weights.wkv), DType::kF32);
  const Value gate = ops::linear_bf16(e_.at("wgate"), x, e_.weight(weights.wgate), DType::kF32);
  const kv::CacheView& view = context_.layout->ca_state(index);
  const std::int64_t slots = context_.layout->params().num_state_slots;
  const ops::RingView ring{.owner = view.owner, .base = view.base, .rows = view.rows};
  const auto slot = [&](std::string_view name, std::int64_t n) { return host_s32(name, {n}, 0, slots - 1); };
  const auto pos = [&](std::string_view name, std::int64_t n) { return host_s32(name, {n}, 0, view.rows - 1); };
  if (shape_.is_decode()) {
    const std::int64_t t = num_tokens();
    auto [latent, root] = ops::compress_pool(e_.at("pool"),
                                             {.kv = kv,
                                              .gate = gate,
                                              .root = std::move(states),
                                              .slot = slot("state_slot", t),
                                              .pos = pos("state_pos", t),
                                              .prev_pos = pos("state_prev_pos", t),
                                              .odd = host_s32("state_odd", {t}, 0, 1)},
                                             ring);
    states = root;
    return latent;
  }
  const std::int64_t n = shape_.pending_rows;
  const Value row = host_s32("state_store_row", {n}, 0, num_tokens() - 1);
  const Value store_slot = slot("state_store_slot", n);
  const Value store_pos = pos("state_store_pos", n);
  const std::int64_t groups = shape_.groups.at(ratio);
  if (groups == 0) {
    states = ops::compress_store(e_.at("pool"),
                                 {.kv = kv,
                                  .gate = gate,
                                  .root = std::move(states),
                                  .store_row = row,
                                  .store_slot = store_slot,
                                  .store_pos = store_pos},
                                 ring);
    return {};
  }
  const std::int64_t last = shape_.num_seqs + num_tokens() - 1;
  auto [latent, root] = ops::compress_pool_varlen(e_.at("pool"),
                                                  {.kv = kv,
                                                   .gate = gate,
                                                   .root = std::move(states),
                                                   .hist_slot = slot("state_hist_slot", shape_.num_seqs),
                                                   .hist_pos = pos("state_hist_pos", shape_.num_seqs),
                                                   .first = host_s32("group_first", {groups}, 0, last),
                                                   .second = host_s32("group_second", {groups}, 0, last),
                                                   .store_row = row,
                                                   .store_slot = store_slot,
                                                   .store_pos = store_pos},
                                                  ring);
  states = root;
  return latent;
}

void Forward::compress(const Layer& layer, std::int64_t index, const Value& x) {
  const std::int64_t ratio = config_.ratio(index);
  Value pooled;
  {
    const graph::PathScope path(e_, "compressor");
    pooled = pooled_latent(*layer.attn.compressor, index, x);
  }
  if (!pooled) return;
  const std::int64_t m = pooled.shape()[0];
  const Value latent =
      ops::rmsnorm(e_.at("latent"), pooled, e_.weight(layer.attn.compressor->norm), config_.rms_norm_eps);
  const TensorType table{DType::kF32, {m, config_.qk_rope_head_dim / 2}};
  const ops::RopeTables tables{host(fmt::format("rope_group{}_cos", ratio), table),
                               host(fmt::format("rope_group{}_sin", ratio), table)};
  const kv::CacheView& rows = context_.layout->ca(index);
  const ops::RecordAddress at{host_s32(fmt::format("ca_slot.{}", ratio), {m}, 0, context_.layout->params().num_blocks),
                              host_s32(fmt::format("ca_pos.{}", ratio), {m}, 0, rows.rows - 1)};
  // The key reads the latent before its rotation.
  const Value key = ops::linear_bf16(e_.at("wk"), latent, e_.weight(layer.attn.indexer->wk), DType::kBF16);
  const Value key_norm =
      ops::rmsnorm(e_.at("k_norm"), key, e_.weight(layer.attn.indexer->k_norm), config_.rms_norm_eps);
  const Value key_rotated = ops::rope(e_.at("key_rope"), key_norm, tables);
  store(context_.layout->ica(index), at, ops::kv_pack(e_.at("key_records"), key_rotated, "ica"));
  const Value rotated = ops::rope(e_.at("latent_rope"), latent, tables);
  store(rows, at, ops::kv_pack(e_.at("compress_records"), rotated, "ca"));
}

const kv::CacheView& Forward::key_view(std::int64_t index) const {
  // The reference's quirk: while a group is open, scores run against the keys published last (model.md 7.5).
  const bool stale = shape_.stale_keys && config_.ratio(index) > 1;
  return context_.layout->ica(stale ? config_.kv_source_layer_ids.back() : config_.kv_source(index));
}

Value Forward::index_scores(const Layer& layer, std::int64_t index, const Value& x, const QuantisedRows& qr) {
  const Indexer& weights = *layer.attn.indexer;
  const graph::PathScope path(e_, "index");
  const std::int64_t t = num_tokens();
  const Value q =
      ops::reshape(e_, linear("wq_b", qr, weights.wq_b), {t, config_.index_n_heads, config_.index_head_dim});
  const ops::RopeTables tables = rope_tables(true);
  const Value rotated = ops::rope(e_.at("q_rope"), q, tables);
  const QuantisedRows codes =
      ops::quant_act(e_.at("q"), ops::reshape(e_, rotated, {t, config_.index_n_heads * config_.index_head_dim}),
                     ops::QuantFormat::kFp4x32);
  const double factor = (1.0 / std::sqrt(static_cast<double>(config_.index_head_dim))) *
                        (1.0 / std::sqrt(static_cast<double>(config_.index_n_heads)));
  const Value head_weights =
      ops::linear_bf16(e_.at("weights"), x, e_.weight(weights.weights_proj), DType::kBF16, factor);
  const kv::CacheView& view = key_view(index);
  const std::int64_t num_rows = shape_.table_width * view.rows;
  const std::int64_t num_blocks = context_.layout->params().num_blocks;
  ops::IndexScoreOperands args{.q = codes.codes,
                               .qs = codes.scales,
                               .root = blocks,
                               .weights = head_weights,
                               .visible = host_s32(fmt::format("klen.{}", config_.ratio(index)), {t}, 0, num_rows)};
  if (config_.uses_candidates(index) && candidates_) {
    args.candidates = candidates_->ids;
    args.ccount = candidates_->count;
  }
  const ops::IndexScoreAttrs attrs{.heads = config_.index_n_heads,
                                   .pages = {.base = view.base, .rows = view.rows, .row_bytes = view.row_bytes},
                                   .precision = index_precision(context_.modes.index_scores),
                                   .block = config_.candidates_on() ? config_.candidate_block_size : 8};
  e_.at("scores");
  if (shape_.is_decode()) {
    args.block_table = host_s32("block_table", {t, shape_.table_width}, 0, num_blocks);
    return ops::index_score(e_, args, attrs);
  }
  args.block_table = host_s32("block_table", {shape_.num_seqs, shape_.table_width}, 0, num_blocks);
  args.seq = host_s32("seq", {t}, 0, shape_.num_seqs - 1);
  return ops::index_score_varlen(e_, args, attrs);
}

void Forward::publish_selection(const Layer& layer, std::int64_t index, const Value& x, const QuantisedRows& qr) {
  const Value scores = index_scores(layer, index, x, qr);
  const kv::CacheView& rows = context_.layout->ca(config_.kv_source(index));
  const std::int64_t num_rows = scores.shape()[1];
  const Value visible =
      host_s32(fmt::format("klen.{}", config_.ratio(index)), {num_tokens()}, 0, shape_.table_width * rows.rows);
  if (config_.is_candidate_source(index)) {
    candidates_ = ops::candidate_blocks(e_.at("candidates"), scores, visible,
                                        {.block = config_.candidate_block_size, .keep = config_.candidate_topk_blocks});
  }
  const std::int64_t k = std::min(config_.index_topk, num_rows);
  const ops::Selection picked = ops::topk_select(e_.at("compress_idx"), scores, visible, k);
  selection_ = {picked.ids, picked.count, {}};
  if (!shape_.is_decode()) return;
  const Value table =
      host_s32("block_table", {num_tokens(), shape_.table_width}, 0, context_.layout->params().num_blocks);
  const ops::RecordAddress at = ops::page_address(e_, picked.ids, table, rows.rows);
  selection_.records = ops::state_gather(e_.at("selected"), blocks, at, state_view(rows));
}

}  // namespace deepinfer::model::deepseek_v41
