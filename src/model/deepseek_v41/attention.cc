// The attention half: queries, window rows, the sparse attention over window and selected rows, the output projection.
#include <fmt/format.h>

#include <cmath>

#include "model/deepseek_v41/forward.h"
#include "ops/grouped_einsum/grouped_einsum.h"
#include "ops/kv_pack/kv_pack.h"
#include "ops/primitives/primitives.h"
#include "ops/rmsnorm/rmsnorm.h"
#include "ops/sparse_attn/sparse_attn.h"
#include "ops/window_concat/window_concat.h"

namespace deepinfer::model::deepseek_v41 {

ops::StateView state_view(const kv::CacheView& view) {
  return {.kind = kv::cache_kind_name(view.kind),
          .owner = view.owner,
          .base = view.base,
          .rows = view.rows,
          .row_bytes = view.row_bytes};
}

ops::RopeTables Forward::rope_tables(bool compressed) {
  const TensorType table{DType::kF32, {num_tokens(), config_.qk_rope_head_dim / 2}};
  const std::string_view kind = compressed ? "compress" : "main";
  return {host(fmt::format("rope_{}_cos", kind), table), host(fmt::format("rope_{}_sin", kind), table)};
}

void Forward::store(const kv::CacheView& view, const ops::RecordAddress& at, const Value& records) {
  Value& root = view.root == kv::Root::kBlocks ? blocks : states;
  root = ops::state_store(e_.at("store"), root, at, records, state_view(view));
}

// bf16 rows -> normed, rotated, quantised records u8 [T, row_bytes].
Value Forward::window_records(const Attention& attn, const QuantisedRows& x, bool compressed) {
  const Value kv = linear("wkv", x, attn.wkv);
  const Value norm = ops::rmsnorm(e_.at("kv_norm"), kv, e_.weight(attn.kv_norm), config_.rms_norm_eps);
  const ops::RopeTables tables = rope_tables(compressed);
  const Value rotated = ops::rope(e_.at("window_rope"), norm, tables);
  return ops::kv_pack(e_.at("window_records"), rotated, "swa", context_.modes.fp8_range);
}

void Forward::store_window(const kv::CacheView& view, const Value& records) {
  const std::int64_t slots = context_.layout->params().num_state_slots;
  if (shape_.is_decode()) {
    const Value slot = host_s32("swa_slot", {num_tokens()}, 0, slots - 1);
    const Value pos = host_s32("swa_pos", {num_tokens()}, 0, view.rows - 1);
    store(view, {slot, pos}, records);
    return;
  }
  const std::int64_t n = rows_.shape->store_rows;
  const Value row = host_s32("swa_store_row", {n}, 0, num_tokens() - 1);
  const Value slot = host_s32("swa_store_slot", {n}, 0, slots - 1);
  const Value pos = host_s32("swa_store_pos", {n}, 0, view.rows - 1);
  store(view, {slot, pos}, ops::gather_rows(e_, records, row));
}

// Stores the step's records and returns the rows that the step's queries look into.
Forward::WindowRows Forward::window_rows(std::int64_t index, const Value& records) {
  const kv::CacheView& view = context_.layout->swa(index);
  const std::int64_t slots = context_.layout->params().num_state_slots;
  const std::int64_t span = shape_.window_span;
  if (shape_.is_decode()) {
    store_window(view, records);
    const std::int64_t entries = num_tokens() * span;
    const Value slot = ops::reshape(e_, host_s32("swa_rd_slot", {num_tokens(), span}, 0, slots - 1), {entries});
    const Value pos = ops::reshape(e_, host_s32("swa_rd_pos", {num_tokens(), span}, 0, view.rows - 1), {entries});
    const Value buffer = ops::state_gather(e_.at("window"), states, {slot, pos}, state_view(view));
    return {buffer, {}, host_s32("swa_count", {num_tokens()}, 0, span)};
  }
  Value buffer = records;
  if (const std::int64_t n = rows_.shape->history_rows; n > 0) {
    const Value slot = host_s32("swa_hist_slot", {n}, 0, slots - 1);
    const Value pos = host_s32("swa_hist_pos", {n}, 0, view.rows - 1);
    buffer = ops::window_concat(e_.at("window"), states, {slot, pos}, records, state_view(view));
  }
  store_window(view, records);
  const Value entries = host_s32("swa_index", {num_tokens(), span}, 0, buffer.shape()[0] - 1);
  return {buffer, entries, host_s32("swa_count", {num_tokens()}, 0, span)};
}

Value Forward::attend(const Attention& attn, std::int64_t index, const Value& q, const WindowRows& window) {
  const double scale = 1.0 / std::sqrt(static_cast<double>(config_.head_dim));
  const Value sink = e_.weight(attn.attn_sink);
  const bool compressed = config_.ratio(index) > 0;
  const ops::SparseAttnAttrs attrs{.scale = scale,
                                   .window = shape_.window_span,
                                   .holes = shape_.holes_front ? ops::Holes::kFront : ops::Holes::kEnd};
  e_.at("o");
  if (shape_.is_decode()) {
    ops::SparseAttnOperands args{.q = q, .window = window.buffer, .wcount = window.count, .sink = sink};
    if (compressed) {
      args.selected = selection_.records;
      args.scount = selection_.count;
    }
    return ops::sparse_attn(e_, args, attrs);
  }
  ops::SparseAttnVarlenOperands args{
      .q = q, .window_buf = window.buffer, .win_index = window.index, .wcount = window.count, .sink = sink};
  ops::PageView pages;
  if (compressed) {
    const kv::CacheView& view = context_.layout->ca(config_.kv_source(index));
    pages = {.base = view.base, .rows = view.rows, .row_bytes = view.row_bytes};
    args.root = blocks;
    args.block_table =
        host_s32("block_table", {shape_.num_seqs, shape_.table_width}, 0, context_.layout->params().num_blocks);
    args.seq = host_s32("seq", {num_tokens()}, 0, shape_.num_seqs - 1);
    args.ids = selection_.ids;
    args.scount = selection_.count;
  }
  return ops::sparse_attn_varlen(e_, args, attrs, pages);
}

Value Forward::project_out(const Attention& attn, const Value& o, bool compressed) {
  const std::int64_t t = num_tokens();
  const ops::RopeTables tables = rope_tables(compressed);
  const Value rotated = ops::rope(e_.at("o_unrotated"), o, tables, ops::Rotation::kConjugate);
  const Value groups = ops::reshape(e_, rotated, {t, config_.o_groups, config_.output_group_width()});
  const Value z =
      ops::grouped_einsum(e_.at("wo_a"), groups, {.w = e_.weight(attn.wo_a.weight), .ws = e_.weight(attn.wo_a.scale)});
  return linear("out", quantise(ops::reshape(e_, z, {t, config_.output_rank()})), attn.wo_b);
}

Value Forward::attention(const Layer& layer, std::int64_t index, const Value& x) {
  const Attention& attn = layer.attn;
  const bool compressed = config_.ratio(index) > 0;
  const QuantisedRows xq = quantise(x);
  const Value qa = linear("wq_a", xq, attn.wq_a);
  const Value qr = ops::rmsnorm(e_.at("qr"), qa, e_.weight(attn.q_norm), config_.rms_norm_eps);
  const QuantisedRows qrq = quantise(qr);
  const Value heads =
      ops::reshape(e_, linear("wq_b", qrq, attn.wq_b), {num_tokens(), config_.num_attention_heads, config_.head_dim});
  const ops::RopeTables tables = rope_tables(compressed);
  const Value q = ops::rope(e_.at("q"), heads, tables);
  const WindowRows window = window_rows(index, window_records(attn, xq, compressed));
  if (attn.compressor) compress(layer, index, x);
  if (attn.indexer) publish_selection(layer, index, x, qrq);
  return project_out(attn, attend(attn, index, q, window), compressed);
}

// The last KV owner of a prefill whose decoder half runs on fewer rows: window rows, compressed rows and index keys are
// produced for all tokens, everything else for the tail rows only.
Value Forward::attention_cut(const Layer& layer, std::int64_t index, const Value& x_all) {
  const Attention& attn = layer.attn;
  const Value records = window_records(attn, quantise(x_all), true);
  WindowRows window = window_rows(index, records);
  compress(layer, index, x_all);
  cut_to_tail();
  if (num_tokens() == 0) return {};
  const Value rows = host_s32("rows", {num_tokens()}, 0, shape_.rows.num_tokens - 1);
  const Value x = ops::gather_rows(e_, x_all, rows);
  window.index = host_s32("source_swa_index", {num_tokens(), shape_.window_span}, 0, window.buffer.shape()[0] - 1);
  window.count = host_s32("source_swa_count", {num_tokens()}, 0, shape_.window_span);
  const Value qa = linear("wq_a", quantise(x), attn.wq_a);
  const QuantisedRows qr = quantise(ops::rmsnorm(e_.at("qr"), qa, e_.weight(attn.q_norm), config_.rms_norm_eps));
  const Value heads =
      ops::reshape(e_, linear("wq_b", qr, attn.wq_b), {num_tokens(), config_.num_attention_heads, config_.head_dim});
  const ops::RopeTables tables = rope_tables(true);
  const Value q = ops::rope(e_.at("q"), heads, tables);
  publish_selection(layer, index, x, qr);
  return project_out(attn, attend(attn, index, q, window), true);
}

}  // namespace deepinfer::model::deepseek_v41
