#include "engine/step_inputs.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include <fmt/format.h>

#include "base/check.h"
#include "engine/window_range.h"
#include "ops/engram_fetch/engram_fetch.h"
#include "tensor/numeric/rope_table.h"

namespace deepinfer::engine {
namespace {

using checkpoint::ModelConfig;

std::int32_t i32(std::int64_t value) { return static_cast<std::int32_t>(value); }

// One row of a step: which sequence (nullptr = padding), which position.
struct Row {
  const Sequence* sequence = nullptr;
  std::int64_t seq_idx = 0;
  std::int64_t position = 0;
};

/// Fills the inputs that prefill and decode rows share, under a name prefix.
class RowInputs {
 public:
  RowInputs(const StepContext& context, std::string prefix, std::span<const Row> rows, HostTensors& out)
      : context_(context), config_(context.model->config()), prefix_(std::move(prefix)), rows_(rows), out_(out) {}

  void common() {
    const Shape one{count()};
    auto valid = s32("valid_token_mask", one);
    auto force = s32("gate_force_random", one);
    auto index = s32("token_index", one);
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      valid[t] = rows_[t].sequence != nullptr ? 1 : 0;
      force[t] = 0;
      index[t] = i32(static_cast<std::int64_t>(t));
    }
    std::vector<std::int64_t> positions;
    for (const Row& row : rows_) positions.push_back(row.position);
    rope("rope_main", context_.model->rope_main(), positions);
    rope("rope_compress", context_.model->rope_compressed(), positions);
    for (const std::int64_t ratio : ratios()) {
      auto visible = s32(fmt::format("klen.{}", ratio), one);
      for (std::size_t t = 0; t < rows_.size(); ++t) {
        visible[t] = rows_[t].sequence != nullptr ? i32((rows_[t].position + 1) / ratio) : 0;
      }
    }
    engram();
  }

  void image_mask() {
    auto mask = s32("image_mask", {count()});
    for (std::size_t t = 0; t < rows_.size(); ++t) mask[t] = is_image(rows_[t]) ? 1 : 0;
  }

  void rope(const std::string& name, std::span<const float> frequencies, std::span<const std::int64_t> positions) {
    if (positions.empty()) return;
    const auto half = static_cast<std::int64_t>(frequencies.size());
    const Shape shape{static_cast<std::int64_t>(positions.size()), half};
    float* cos = out_.add(prefix_ + name + "_cos", Tensor(DType::kF32, shape)).as<float>();
    float* sin = out_.add(prefix_ + name + "_sin", Tensor(DType::kF32, shape)).as<float>();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto at = static_cast<std::int64_t>(i) * half;
      numeric::rope_row(frequencies, positions[i], cos + at, sin + at);
    }
  }

  std::span<std::int32_t> s32(const std::string& name, Shape shape) { return out_.s32(prefix_ + name, shape); }
  std::int64_t count() const { return static_cast<std::int64_t>(rows_.size()); }

  /// Distinct ratios of the model's compressed layers, ascending.
  std::vector<std::int64_t> ratios() const {
    std::vector<std::int64_t> out;
    for (const std::int64_t owner : config_.kv_source_layer_ids) out.push_back(config_.ratio(owner));
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

 private:
  static bool is_image(const Row& row) {
    return row.sequence != nullptr && !row.sequence->image.empty() &&
           row.sequence->image[static_cast<std::size_t>(row.position)] != 0;
  }

  void engram() {
    if (config_.engram_layer_ids.empty()) return;
    auto mask = s32("engram_mask", {count()});
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      mask[t] = rows_[t].sequence != nullptr && !is_image(rows_[t]) ? 1 : 0;
    }
    for (std::size_t i = 0; i < config_.engram_layer_ids.size(); ++i) engram_rows(static_cast<std::int64_t>(i));
  }

  void engram_rows(std::int64_t i) {
    const std::int64_t layer = config_.engram_layer_ids[static_cast<std::size_t>(i)];
    const auto& weights = *context_.model->weights().layers[static_cast<std::size_t>(layer)].engram;
    const std::int64_t columns = config_.engram_columns();
    const std::int64_t width = config_.engram_width();
    Tensor& x = out_.add(fmt::format("{}engram_x.{}", prefix_, layer), Tensor::zeros({DType::kBF16, {count(), width}}));
    const ops::EngramTable table{weights.table.as<std::uint8_t>(), weights.scales.as<std::uint8_t>(),
                                 weights.table.type.shape[0], weights.table.type.shape[1]};
    std::vector<std::int64_t> ids(static_cast<std::size_t>(columns));
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      if (rows_[t].sequence == nullptr) continue;  // padding: rows of zeros and mask 0
      ops::engram_row_ids(context_.model->engram_hash(i), rows_[t].sequence->classes, rows_[t].position, 1, ids.data());
      ops::engram_fetch(table, ids, x.as<BF16>() + static_cast<std::int64_t>(t) * width);
    }
  }

  const StepContext& context_;
  const ModelConfig& config_;
  std::string prefix_;
  std::span<const Row> rows_;
  HostTensors& out_;
};

// ---- prefill ----------------------------------------------------------------------------------------------------

/// The rows [begin, end) of each item that one half of the model runs, and the window each may look into.
struct Span {
  const Sequence* sequence;
  std::int64_t begin;  ///< first position
  std::int64_t end;
  std::int64_t floor;  ///< no window row before this position exists for these layers
};

class PrefillBuilder {
 public:
  PrefillBuilder(const StepContext& context, std::span<const PrefillItem> items)
      : context_(context), config_(context.model->config()), items_(items) {}

  PreparedStep build() {
    for (const PrefillItem& item : items_) {
      const std::int64_t begin = item.sequence->length;
      all_.push_back({item.sequence, begin, begin + item.count, 0});
      const std::int64_t tail = item.sequence->tail_start;
      // Once no window reaches below tail_start both halves see the same rows.
      step_.shape.cut_tail |= tail > 0 && begin < tail + config_.sliding_window;
      tail_.push_back({item.sequence, std::max(begin, std::min(tail, begin + item.count)), begin + item.count, tail});
    }
    shape();
    step_.shape.rows = row_set("", all_);
    compressed_rows();
    if (step_.shape.cut_tail) cut();
    logits(step_.shape.cut_tail ? tail_ : all_, step_.shape.cut_tail ? "tail." : "");
    return std::move(step_);
  }

 private:
  void shape() {
    model::StepShape& shape = step_.shape;
    shape.phase = model::Phase::kPrefill;
    shape.num_seqs = static_cast<std::int64_t>(items_.size());
    shape.window_span = config_.sliding_window;
    std::int64_t longest = 0;
    for (const Span& span : all_) {
      shape.table_width = std::max(shape.table_width, static_cast<std::int64_t>(span.sequence->blocks.size()));
      shape.has_images |= !span.sequence->image.empty();
      longest = std::max(longest, span.end);
    }
    if (context_.modes.attention_list == model::AttentionList::kReference) {
      DI_CHECK(items_.size() == 1, "attention_list = reference takes one sequence a prefill step");
      shape.window_span = std::min(longest, config_.sliding_window);
    }
    shape.has_embeds = items_.front().embeds != nullptr;
  }

  static std::vector<Row> rows_of(std::span<const Span> spans) {
    std::vector<Row> rows;
    for (std::size_t s = 0; s < spans.size(); ++s) {
      for (std::int64_t p = spans[s].begin; p < spans[s].end; ++p) {
        rows.push_back({spans[s].sequence, static_cast<std::int64_t>(s), p});
      }
    }
    return rows;
  }

  // Inputs of one row set; returns its shape.
  model::RowShape row_set(const std::string& prefix, std::span<const Span> spans) {
    const std::vector<Row> rows = rows_of(spans);
    if (rows.empty()) return {};
    RowInputs inputs(context_, prefix, rows, step_.inputs);
    inputs.common();
    if (step_.shape.has_images) inputs.image_mask();
    if (prefix.empty()) ids_and_embeds(rows);
    auto seq = inputs.s32("seq", {inputs.count()});
    for (std::size_t t = 0; t < rows.size(); ++t) seq[t] = i32(rows[t].seq_idx);
    tables(prefix);
    model::RowShape shape{.num_tokens = inputs.count()};
    shape.history_rows = window_history(prefix, spans);
    windows(prefix + "swa_", spans, rows);
    shape.store_rows = kept_rows(prefix + "swa", spans, ring_rows());
    return shape;
  }

  std::int64_t ring_rows() const { return context_.layout->swa(0).rows; }

  void ids_and_embeds(std::span<const Row> rows) {
    if (step_.shape.has_embeds) {
      Tensor& out = step_.inputs.add("inputs_embeds", Tensor(DType::kBF16, {static_cast<std::int64_t>(rows.size()), config_.hidden_size}));
      auto* to = static_cast<std::byte*>(out.data());
      for (const PrefillItem& item : items_) {
        const auto bytes = static_cast<std::size_t>(item.embeds->type().bytes());
        std::memcpy(to, item.embeds->data(), bytes);
        to += bytes;
      }
      return;
    }
    auto ids = step_.inputs.s32("input_ids", {static_cast<std::int64_t>(rows.size())});
    for (std::size_t t = 0; t < rows.size(); ++t) {
      ids[t] = rows[t].sequence->tokens[static_cast<std::size_t>(rows[t].position)];
    }
  }

  void tables(const std::string& prefix) {
    const std::int64_t width = step_.shape.table_width;
    auto table = step_.inputs.s32(prefix + "block_table", {step_.shape.num_seqs, width});
    std::fill(table.begin(), table.end(), i32(context_.layout->params().num_blocks));
    for (std::size_t s = 0; s < items_.size(); ++s) {
      const auto& blocks = items_[s].sequence->blocks;
      std::copy(blocks.begin(), blocks.end(), table.begin() + static_cast<std::ptrdiff_t>(s) * width);
    }
  }

  // First position whose ring record the span's queries may need.
  std::int64_t history_begin(const Span& span) const {
    return std::min(span.begin, window_range(span.begin, config_.sliding_window, span.floor).begin);
  }

  std::int64_t window_history(const std::string& prefix, std::span<const Span> spans) {
    std::vector<std::int32_t> slots;
    std::vector<std::int32_t> positions;
    for (const Span& span : spans) {
      if (span.begin == span.end) continue;
      for (std::int64_t p = history_begin(span); p < span.begin; ++p) {
        slots.push_back(span.sequence->slot);
        positions.push_back(i32(p % ring_rows()));
      }
    }
    const Shape shape{static_cast<std::int64_t>(slots.size())};
    std::ranges::copy(slots, step_.inputs.s32(prefix + "swa_hist_slot", shape).begin());
    std::ranges::copy(positions, step_.inputs.s32(prefix + "swa_hist_pos", shape).begin());
    return shape[0];
  }

  // Window entries of `rows` inside the buffer [history | new rows] of the spans `buffer`: <name>index, <name>count.
  void windows(const std::string& name, std::span<const Span> buffer, std::span<const Row> rows) {
    std::int64_t history = 0;
    for (const Span& span : buffer) history += span.begin == span.end ? 0 : span.begin - history_begin(span);
    const std::int64_t entries = step_.shape.window_span;
    const Shape shape{static_cast<std::int64_t>(rows.size()), entries};
    auto index = step_.inputs.s32(name + "index", shape);
    auto count = step_.inputs.s32(name + "count", {shape[0]});
    std::vector<std::int64_t> first_history(buffer.size());
    std::vector<std::int64_t> first_new(buffer.size());
    std::int64_t old_rows = 0;
    std::int64_t new_rows = history;
    for (std::size_t s = 0; s < buffer.size(); ++s) {
      first_history[s] = old_rows;
      first_new[s] = new_rows;
      if (buffer[s].begin == buffer[s].end) continue;
      old_rows += buffer[s].begin - history_begin(buffer[s]);
      new_rows += buffer[s].end - buffer[s].begin;
    }
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const auto s = static_cast<std::size_t>(rows[t].seq_idx);
      const std::int64_t p = rows[t].position;
      const auto [begin, end] = window_range(p, config_.sliding_window, buffer[s].floor);
      count[t] = i32(end - begin);
      for (std::int64_t i = 0; i < entries; ++i) {
        const std::int64_t q = std::min(begin + i, p);  // entries past the count repeat the token's own row
        index[t * static_cast<std::size_t>(entries) + static_cast<std::size_t>(i)] =
            i32(q < buffer[s].begin ? first_history[s] + q - history_begin(buffer[s])
                                    : first_new[s] + q - buffer[s].begin);
      }
    }
  }

  // The last records of each span that fit the ring: <name>_store_row, _store_slot, _store_pos. Returns their number.
  std::int64_t kept_rows(const std::string& name, std::span<const Span> spans, std::int64_t ring) {
    std::vector<std::int32_t> row;
    std::vector<std::int32_t> slot;
    std::vector<std::int32_t> pos;
    std::int64_t base = 0;
    for (const Span& span : spans) {
      for (std::int64_t p = std::max(span.begin, span.end - ring); p < span.end; ++p) {
        row.push_back(i32(base + p - span.begin));
        slot.push_back(span.sequence->slot);
        pos.push_back(i32(p % ring));
      }
      base += span.end - span.begin;
    }
    const Shape shape{static_cast<std::int64_t>(row.size())};
    std::ranges::copy(row, step_.inputs.s32(name + "_store_row", shape).begin());
    std::ranges::copy(slot, step_.inputs.s32(name + "_store_slot", shape).begin());
    std::ranges::copy(pos, step_.inputs.s32(name + "_store_pos", shape).begin());
    return shape[0];
  }

  void compressed_rows() {
    const std::vector<Row> rows = rows_of(all_);
    RowInputs inputs(context_, "", rows, step_.inputs);
    for (const std::int64_t ratio : inputs.ratios()) {
      std::vector<std::int32_t> slot;
      std::vector<std::int32_t> pos;
      std::vector<std::int32_t> second;
      std::vector<std::int32_t> first;
      std::vector<std::int64_t> starts;
      const std::int64_t block_rows = context_.layout->params().block_size / ratio;
      for (std::size_t t = 0; t < rows.size(); ++t) {
        const Row& row = rows[t];
        if ((row.position + 1) % ratio != 0) continue;
        const std::int64_t j = row.position / ratio;
        slot.push_back(row.sequence->blocks[static_cast<std::size_t>(j / block_rows)]);
        pos.push_back(i32(j % block_rows));
        starts.push_back(j * ratio);
        const auto here = i32(step_.shape.num_seqs + static_cast<std::int64_t>(t));
        second.push_back(here);
        first.push_back(row.position == row.sequence->length ? i32(row.seq_idx) : here - 1);
      }
      const Shape shape{static_cast<std::int64_t>(slot.size())};
      step_.shape.groups[ratio] = shape[0];
      std::ranges::copy(slot, step_.inputs.s32(fmt::format("ca_slot.{}", ratio), shape).begin());
      std::ranges::copy(pos, step_.inputs.s32(fmt::format("ca_pos.{}", ratio), shape).begin());
      inputs.rope(fmt::format("rope_group{}", ratio), context_.model->rope_compressed(), starts);
      if (ratio == 1) continue;
      std::ranges::copy(first, step_.inputs.s32("group_first", shape).begin());
      std::ranges::copy(second, step_.inputs.s32("group_second", shape).begin());
      pending_rows(ratio);
    }
  }

  void pending_rows(std::int64_t ratio) {
    const std::int64_t ring = ratio + std::max<std::int64_t>(0, context_.layout->params().backtracking - 1);
    auto slot = step_.inputs.s32("state_hist_slot", {step_.shape.num_seqs});
    auto pos = step_.inputs.s32("state_hist_pos", {step_.shape.num_seqs});
    for (std::size_t s = 0; s < all_.size(); ++s) {
      slot[s] = all_[s].sequence->slot;
      pos[s] = i32(all_[s].begin == 0 ? 0 : (all_[s].begin - 1) % ring);
    }
    step_.shape.pending_rows = kept_rows("state", all_, ring);
  }

  void cut() {
    step_.shape.tail = row_set("tail.", tail_);
    if (step_.shape.tail.num_tokens == 0) return;
    const std::vector<Row> rows = rows_of(tail_);
    auto index = step_.inputs.s32("tail.rows", {static_cast<std::int64_t>(rows.size())});
    std::int64_t base = 0;
    std::size_t t = 0;
    for (std::size_t s = 0; s < all_.size(); ++s) {
      for (std::int64_t p = tail_[s].begin; p < tail_[s].end; ++p) index[t++] = i32(base + p - all_[s].begin);
      base += all_[s].end - all_[s].begin;
    }
    windows("tail.source_swa_", all_, rows);
  }

  void logits(std::span<const Span> spans, const std::string& prefix) {
    std::vector<std::int32_t> rows;
    std::int64_t base = 0;
    for (std::size_t s = 0; s < spans.size(); ++s) {
      const std::int64_t n = spans[s].end - spans[s].begin;
      const std::int64_t wanted = items_[s].logits == LogitRows::kAll ? n : items_[s].logits == LogitRows::kLast ? 1 : 0;
      for (std::int64_t i = n - std::min(wanted, n); i < n; ++i) rows.push_back(i32(base + i));
      base += n;
    }
    step_.shape.logit_rows = static_cast<std::int64_t>(rows.size());
    std::ranges::copy(rows, step_.inputs.s32(prefix + "logit_rows", {step_.shape.logit_rows}).begin());
  }

  const StepContext& context_;
  const ModelConfig& config_;
  std::span<const PrefillItem> items_;
  std::vector<Span> all_;
  std::vector<Span> tail_;
  PreparedStep step_;
};

// ---- decode -----------------------------------------------------------------------------------------------------

class DecodeBuilder {
 public:
  DecodeBuilder(const StepContext& context, std::span<const DecodeItem> items, std::int64_t bucket)
      : context_(context), config_(context.model->config()) {
    for (const DecodeItem& item : items) {
      for (std::int64_t i = 0; i < item.count; ++i) rows_.push_back({item.sequence, 0, item.sequence->length + i});
    }
    while (static_cast<std::int64_t>(rows_.size()) < bucket) rows_.push_back({});
  }

  PreparedStep build() {
    RowInputs inputs(context_, "", rows_, step_.inputs);
    model::StepShape& shape = step_.shape;
    shape.phase = model::Phase::kDecode;
    shape.rows.num_tokens = inputs.count();
    shape.logit_rows = inputs.count();
    shape.table_width = context_.table_width;
    shape.window_span = config_.sliding_window;
    shape.holes_front = context_.modes.attention_list == model::AttentionList::kReference;
    shape.stale_keys = context_.modes.index_key_source == model::IndexKeySource::kReferenceDecode &&
                       rows_.size() == 1 && rows_[0].position % 2 == 0;
    inputs.common();
    auto ids = step_.inputs.s32("input_ids", {inputs.count()});
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      ids[t] = padding(t) ? 0 : rows_[t].sequence->tokens[static_cast<std::size_t>(rows_[t].position)];
      shape.has_images |= !padding(t) && !rows_[t].sequence->image.empty();
    }
    if (shape.has_images) inputs.image_mask();
    windows();
    tables();
    for (const std::int64_t ratio : inputs.ratios()) compressed(inputs, ratio);
    return std::move(step_);
  }

 private:
  bool padding(std::size_t t) const { return rows_[t].sequence == nullptr; }
  std::int32_t slot(std::size_t t) const { return padding(t) ? 0 : rows_[t].sequence->slot; }
  // Padding rows write to the dummy slot at ring position t mod rows, real rows at their own position (graph.md 4.4).
  std::int32_t ring_pos(std::size_t t, std::int64_t position, std::int64_t rows) const {
    return i32(padding(t) ? static_cast<std::int64_t>(t) % rows : position % rows);
  }

  void windows() {
    const std::int64_t ring = context_.layout->swa(0).rows;
    const auto count = static_cast<std::int64_t>(rows_.size());
    const std::int64_t span = config_.sliding_window;
    auto store_slot = step_.inputs.s32("swa_slot", {count});
    auto store_pos = step_.inputs.s32("swa_pos", {count});
    auto visible = step_.inputs.s32("swa_count", {count});
    auto slots = step_.inputs.s32("swa_rd_slot", {count, span});
    auto positions = step_.inputs.s32("swa_rd_pos", {count, span});
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      const std::int64_t p = rows_[t].position;
      const auto [begin, end] = window_range(p, span);
      store_slot[t] = slot(t);
      store_pos[t] = ring_pos(t, p, ring);
      visible[t] = i32(end - begin);
      // The list has its holes at the end, or in front of the rows (attention_list = reference).
      const std::int64_t lead = step_.shape.holes_front ? span - visible[t] : 0;
      for (std::int64_t i = 0; i < span; ++i) {
        const std::size_t at = t * static_cast<std::size_t>(span) + static_cast<std::size_t>(i);
        slots[at] = slot(t);
        positions[at] = ring_pos(t, std::clamp(begin + i - lead, begin, p), ring);
      }
    }
  }

  void tables() {
    const std::int64_t width = context_.table_width;
    auto table = step_.inputs.s32("block_table", {static_cast<std::int64_t>(rows_.size()), width});
    std::fill(table.begin(), table.end(), i32(context_.layout->params().num_blocks));
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      if (padding(t)) continue;
      const auto& blocks = rows_[t].sequence->blocks;
      DI_CHECK(static_cast<std::int64_t>(blocks.size()) <= width, "{} blocks, table width {}", blocks.size(), width);
      std::copy(blocks.begin(), blocks.end(), table.begin() + static_cast<std::ptrdiff_t>(t) * width);
    }
  }

  void compressed(RowInputs& inputs, std::int64_t ratio) {
    const std::int64_t block_rows = context_.layout->params().block_size / ratio;
    auto slots = step_.inputs.s32(fmt::format("ca_slot.{}", ratio), {inputs.count()});
    auto positions = step_.inputs.s32(fmt::format("ca_pos.{}", ratio), {inputs.count()});
    std::vector<std::int64_t> starts;
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      const std::int64_t p = rows_[t].position;
      const std::int64_t j = p / ratio;
      starts.push_back(j * ratio);
      const bool completes = !padding(t) && (p + 1) % ratio == 0;
      slots[t] = completes ? rows_[t].sequence->blocks[static_cast<std::size_t>(j / block_rows)]
                           : i32(context_.layout->params().num_blocks);
      positions[t] = i32(completes ? j % block_rows : static_cast<std::int64_t>(t) % block_rows);
    }
    inputs.rope(fmt::format("rope_group{}", ratio), context_.model->rope_compressed(), starts);
    if (ratio > 1) pending(inputs, ratio);
  }

  void pending(RowInputs& inputs, std::int64_t ratio) {
    const std::int64_t ring = ratio + std::max<std::int64_t>(0, context_.layout->params().backtracking - 1);
    auto slots = inputs.s32("state_slot", {inputs.count()});
    auto positions = inputs.s32("state_pos", {inputs.count()});
    auto previous = inputs.s32("state_prev_pos", {inputs.count()});
    auto odd = inputs.s32("state_odd", {inputs.count()});
    for (std::size_t t = 0; t < rows_.size(); ++t) {
      const std::int64_t p = rows_[t].position;
      slots[t] = slot(t);
      positions[t] = ring_pos(t, p, ring);
      previous[t] = ring_pos(t, std::max<std::int64_t>(p - 1, 0), ring);
      odd[t] = !padding(t) && (p + 1) % ratio == 0 ? 1 : 0;
    }
  }

  const StepContext& context_;
  const ModelConfig& config_;
  std::vector<Row> rows_;
  PreparedStep step_;
};

}  // namespace

std::span<std::int32_t> HostTensors::s32(const std::string& name, Shape shape) {
  if (shape.num_elements() == 0) return {};
  return add(name, Tensor(DType::kS32, shape)).span<std::int32_t>();
}

Tensor& HostTensors::add(const std::string& name, Tensor tensor) {
  return tensors_.insert_or_assign(name, std::move(tensor)).first->second;
}

void HostTensors::bind(graph::Bindings& bindings) const {
  for (const auto& [name, tensor] : tensors_) bindings.host.insert_or_assign(name, tensor.ref());
}

PreparedStep prepare_prefill(const StepContext& context, std::span<const PrefillItem> items) {
  return PrefillBuilder(context, items).build();
}

PreparedStep prepare_decode(const StepContext& context, std::span<const DecodeItem> items, std::int64_t bucket) {
  return DecodeBuilder(context, items, bucket).build();
}

HostTensors prepare_draft(const StepContext& context, std::span<const Sequence* const> sequences,
                          std::span<const std::int32_t> anchors, std::int64_t bucket) {
  const ModelConfig& config = context.model->config();
  const std::int64_t block = config.dspark_block_size;
  const std::int64_t window = config.sliding_window;
  const std::int64_t ring = context.layout->swa(0).rows;
  const std::int64_t num_requests = std::max(bucket, static_cast<std::int64_t>(sequences.size()));
  HostTensors out;
  std::vector<Row> rows;
  for (std::int64_t r = 0; r < num_requests; ++r) {
    const bool real = r < static_cast<std::int64_t>(sequences.size());
    const Sequence* sequence = real ? sequences[static_cast<std::size_t>(r)] : nullptr;
    for (std::int64_t k = 0; k < block; ++k) rows.push_back({sequence, r, real ? sequence->length + k : k});
  }
  const auto num_rows = static_cast<std::int64_t>(rows.size());
  RowInputs inputs(context, "", rows, out);
  auto ids = inputs.s32("input_ids", {num_rows});
  auto valid = inputs.s32("valid_token_mask", {num_rows});
  auto force = inputs.s32("gate_force_random", {num_rows});
  auto token_index = inputs.s32("token_index", {num_rows});
  std::vector<std::int64_t> positions;
  for (std::size_t t = 0; t < rows.size(); ++t) {
    const bool anchor = static_cast<std::int64_t>(t) % block == 0 && rows[t].sequence != nullptr;
    ids[t] = anchor ? anchors[t / static_cast<std::size_t>(block)] : i32(config.dspark_noise_token_id);
    valid[t] = rows[t].sequence != nullptr ? 1 : 0;
    force[t] = 0;
    token_index[t] = i32(static_cast<std::int64_t>(t));
    positions.push_back(rows[t].position);
  }
  inputs.rope("rope_main", context.model->rope_main(), positions);

  auto slots = inputs.s32("ring_slot", {num_requests * window});
  auto ring_pos = inputs.s32("ring_pos", {num_requests * window});
  auto index = inputs.s32("window_index", {num_rows * (window + block)});
  auto count = inputs.s32("window_count", {num_rows});
  for (std::int64_t r = 0; r < num_requests; ++r) {
    const Sequence* sequence = rows[static_cast<std::size_t>(r * block)].sequence;
    const std::int64_t length = sequence != nullptr ? sequence->length : 0;
    std::vector<std::int64_t> seen;
    for (std::int64_t p = std::max<std::int64_t>(0, length - window); p < length; ++p) seen.push_back(p);
    std::sort(seen.begin(), seen.end(), [&](std::int64_t a, std::int64_t b) { return a % window < b % window; });
    const auto num_seen = static_cast<std::int64_t>(seen.size());
    for (std::int64_t i = 0; i < window; ++i) {
      const auto at = static_cast<std::size_t>(r * window + i);
      slots[at] = sequence != nullptr ? sequence->slot : 0;
      ring_pos[at] = i < num_seen ? i32(seen[static_cast<std::size_t>(i)] % ring) : 0;
    }
    for (std::int64_t k = 0; k < block; ++k) {
      const std::int64_t t = r * block + k;
      count[static_cast<std::size_t>(t)] = i32(num_seen + block);
      for (std::int64_t i = 0; i < window + block; ++i) {
        const std::int64_t own = num_requests * window + r * block + std::clamp<std::int64_t>(i - num_seen, 0, block - 1);
        index[static_cast<std::size_t>(t * (window + block) + i)] = i32(i < num_seen ? r * window + i : own);
      }
    }
  }
  return out;
}

}  // namespace deepinfer::engine
