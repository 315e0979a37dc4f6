#include "checkpoint/weight_table.h"

#include <fmt/format.h>

namespace deepinfer::checkpoint {
namespace {

using Shape2 = std::vector<std::int64_t>;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

class Builder {
 public:
  Builder(const ModelConfig& config, DraftLayers drafts) : c_(config), drafts_(drafts) {}

  std::vector<WeightSpec> run() {
    const std::int64_t d = c_.hidden_size;
    plain("embed.weight", {c_.vocab_size, d}, WeightGroup::kEmbed);
    plain("head.weight", {c_.vocab_size, d}, WeightGroup::kHead);
    plain("norm.weight", {d}, WeightGroup::kNorm);
    for (std::int64_t layer = 0; layer < c_.num_hidden_layers; ++layer) trunk_layer(layer);
    draft_group_ = true;
    draft_use_ = drafts_ == DraftLayers::kSkip ? WeightUse::kIgnored : WeightUse::kRequired;
    for (std::int64_t stage = 0; stage < c_.num_nextn_predict_layers; ++stage) draft_stage(stage);
    draft_group_ = false;
    if (c_.vision) vision(*c_.vision);
    return std::move(table_);
  }

 private:
  WeightSpec& add(std::string name, WeightKind kind, Shape2 shape, WeightGroup group) {
    WeightSpec spec{std::move(name), kind, std::move(shape), group, WeightUse::kRequired, Residency::kResident};
    if (draft_group_) spec.group = WeightGroup::kDraft;
    if (draft_group_) spec.use = draft_use_;
    table_.push_back(std::move(spec));
    return table_.back();
  }
  void plain(std::string name, Shape2 shape, WeightGroup group) {
    add(std::move(name), WeightKind::kBF16, std::move(shape), group);
  }
  void single(std::string name, Shape2 shape, WeightGroup group) {
    add(std::move(name), WeightKind::kF32, std::move(shape), group);
  }
  // An fp8 module: weight, and one scale a tile of block x block.
  void fp8(const std::string& module, std::int64_t rows, std::int64_t columns, WeightGroup group) {
    const std::int64_t block = c_.weight_block_size;
    add(module + ".weight", WeightKind::kE4M3, {rows, columns}, group);
    add(module + ".scale", WeightKind::kE8M0, {ceil_div(rows, block), ceil_div(columns, block)}, group);
  }
  // An fp4 module: two codes a byte, and one scale a row per 32 columns.
  void fp4(const std::string& module, std::int64_t rows, std::int64_t columns) {
    add(module + ".weight", WeightKind::kFp4, {rows, columns / 2}, WeightGroup::kExperts).residency =
        Residency::kMapped;
    add(module + ".scale", WeightKind::kE8M0, {rows, columns / 32}, WeightGroup::kExperts).residency =
        Residency::kMapped;
  }

  void trunk_layer(std::int64_t layer) {
    const std::string prefix = fmt::format("layers.{}.", layer);
    if (c_.has_engram(layer)) engram(prefix + "engram.", c_.engram_index(layer));
    common(prefix);
    if (c_.is_kv_source(layer)) compressor(prefix + "attn.compressor.", c_.ratio(layer));
    if (c_.is_index_source(layer)) indexer(prefix + "attn.indexer.", c_.is_kv_source(layer));
    moe(prefix + "ffn.", c_.n_routed_experts);
  }

  void draft_stage(std::int64_t stage) {
    const std::string prefix = fmt::format("mtp.{}.", stage);
    const std::int64_t d = c_.hidden_size;
    if (stage == 0) {
      fp8(prefix + "main_proj", d, d * static_cast<std::int64_t>(c_.dspark_target_layer_ids.size()),
          WeightGroup::kDraft);
      plain(prefix + "main_norm.weight", {d}, WeightGroup::kDraft);
    }
    common(prefix);
    moe(prefix + "ffn.", c_.dspark_n_routed_experts);
    if (stage + 1 < c_.num_nextn_predict_layers) return;
    const std::int64_t rank = c_.dspark_markov_rank;
    plain(prefix + "norm.weight", {d}, WeightGroup::kDraft);
    plain(prefix + "markov_head.embed.weight", {c_.vocab_size, rank}, WeightGroup::kDraft);
    plain(prefix + "markov_head.head.weight", {c_.vocab_size, rank}, WeightGroup::kDraft);
    plain(prefix + "confidence_head.proj.weight", {1, d + rank}, WeightGroup::kDraft);
  }

  // Norms, hyper-connections and window attention: what every layer has.
  void common(const std::string& prefix) {
    const std::int64_t d = c_.hidden_size;
    plain(prefix + "attn_norm.weight", {d}, WeightGroup::kNorm);
    plain(prefix + "ffn_norm.weight", {d}, WeightGroup::kNorm);
    for (const char* site : {"attn", "ffn"}) {
      const std::string name = fmt::format("{}hc_{}_", prefix, site);
      single(name + "fn", {c_.hc_params(), c_.hc_mult * d}, WeightGroup::kHyperConnection);
      single(name + "base", {c_.hc_params()}, WeightGroup::kHyperConnection);
      single(name + "scale", {3}, WeightGroup::kHyperConnection);
    }
    const std::string attn = prefix + "attn.";
    single(attn + "attn_sink", {c_.num_attention_heads}, WeightGroup::kAttention);
    fp8(attn + "wq_a", c_.q_lora_rank, d, WeightGroup::kAttention);
    plain(attn + "q_norm.weight", {c_.q_lora_rank}, WeightGroup::kAttention);
    fp8(attn + "wq_b", c_.query_width(), c_.q_lora_rank, WeightGroup::kAttention);
    fp8(attn + "wkv", c_.head_dim, d, WeightGroup::kAttention);
    plain(attn + "kv_norm.weight", {c_.head_dim}, WeightGroup::kAttention);
    fp8(attn + "wo_a", c_.output_rank(), c_.output_group_width(), WeightGroup::kAttention);
    fp8(attn + "wo_b", d, c_.output_rank(), WeightGroup::kAttention);
  }

  void compressor(const std::string& prefix, std::int64_t ratio) {
    plain(prefix + "wkv.weight", {c_.head_dim, c_.hidden_size}, WeightGroup::kCompressor);
    plain(prefix + "norm.weight", {c_.head_dim}, WeightGroup::kCompressor);
    // A ratio-1 compressor pools nothing, so it has no gate.
    if (ratio > 1) plain(prefix + "wgate.weight", {c_.head_dim, c_.hidden_size}, WeightGroup::kCompressor);
  }

  void indexer(const std::string& prefix, bool owns_keys) {
    fp8(prefix + "wq_b", c_.index_n_heads * c_.index_head_dim, c_.q_lora_rank, WeightGroup::kIndexer);
    plain(prefix + "weights_proj.weight", {c_.index_n_heads, c_.hidden_size}, WeightGroup::kIndexer);
    if (!owns_keys) return;
    plain(prefix + "wk.weight", {c_.index_head_dim, c_.head_dim}, WeightGroup::kIndexer);
    plain(prefix + "k_norm.weight", {c_.index_head_dim}, WeightGroup::kIndexer);
  }

  void moe(const std::string& prefix, std::int64_t experts) {
    const std::int64_t d = c_.hidden_size;
    const std::int64_t width = c_.moe_intermediate_size;
    plain(prefix + "gate.weight", {experts, d}, WeightGroup::kRouter);
    single(prefix + "gate.bias", {experts}, WeightGroup::kRouter);
    // Image positions of the trunk use bias_vl; draft stages store it and never use it.
    add(prefix + "gate.bias_vl", WeightKind::kF32, {experts}, WeightGroup::kRouter).use =
        draft_group_ ? WeightUse::kIgnored : WeightUse::kOptional;
    for (std::int64_t expert = 0; expert < experts; ++expert) {
      const std::string name = fmt::format("{}experts.{}.", prefix, expert);
      fp4(name + "w1", width, d);
      fp4(name + "w2", d, width);
      fp4(name + "w3", width, d);
    }
    fp8(prefix + "shared_experts.w1", width, d, WeightGroup::kSharedExperts);
    fp8(prefix + "shared_experts.w2", d, width, WeightGroup::kSharedExperts);
    fp8(prefix + "shared_experts.w3", width, d, WeightGroup::kSharedExperts);
  }

  void engram(const std::string& prefix, std::int64_t index) {
    const std::int64_t rows = c_.engram_num_embeddings[static_cast<std::size_t>(index)];
    add(prefix + "embed.weight", WeightKind::kE4M3, {rows, c_.engram_head_dim}, WeightGroup::kEngramTable).residency =
        Residency::kMapped;
    add(prefix + "embed.scale", WeightKind::kE8M0, {rows, c_.engram_head_dim / 32}, WeightGroup::kEngramTable)
        .residency = Residency::kMapped;
    fp8(prefix + "wkv", (c_.hc_mult + 1) * c_.hidden_size, c_.engram_width(), WeightGroup::kEngram);
    plain(prefix + "q_weight", {c_.hc_mult, c_.hidden_size}, WeightGroup::kEngram);
    plain(prefix + "k_weight", {c_.hc_mult, c_.hidden_size}, WeightGroup::kEngram);
  }

  void ignored(std::string name, Shape2 shape) {
    add(std::move(name), WeightKind::kBF16, std::move(shape), WeightGroup::kVision).use = WeightUse::kIgnored;
  }
  void ignored_linear(const std::string& module, std::int64_t rows, std::int64_t columns) {
    ignored(module + ".weight", {rows, columns});
    ignored(module + ".bias", {rows});
  }

  void vision(const VisionConfig& v) {
    constexpr std::int64_t kColours = 3;
    const std::int64_t d = c_.hidden_size;
    ignored_linear("vision.patch_embed.proj", v.hidden_size, kColours * v.patch_size * v.patch_size);
    for (std::int64_t block = 0; block < v.num_hidden_layers; ++block) {
      const std::string prefix = fmt::format("vision.blocks.{}.", block);
      ignored(prefix + "norm1.weight", {v.hidden_size});
      ignored(prefix + "norm2.weight", {v.hidden_size});
      ignored_linear(prefix + "attn.wqkv", 3 * v.hidden_size, v.hidden_size);
      ignored_linear(prefix + "attn.wo", v.hidden_size, v.hidden_size);
      ignored(prefix + "mlp.w1.weight", {2 * v.intermediate_size, v.hidden_size});
      ignored(prefix + "mlp.w2.weight", {v.hidden_size, v.intermediate_size});
    }
    ignored("vision.norm.weight", {v.hidden_size});
    ignored_linear("aligner.w1", d, v.hidden_size * v.downsample_ratio * v.downsample_ratio);
    ignored_linear("aligner.w2", d, d);
    for (const char* name : {"image_start", "image_end", "image_newline"}) ignored(name, {d});
  }

  const ModelConfig& c_;
  DraftLayers drafts_;
  bool draft_group_ = false;
  WeightUse draft_use_ = WeightUse::kRequired;
  std::vector<WeightSpec> table_;
};

}  // namespace

std::int64_t WeightSpec::num_elements() const {
  std::int64_t count = 1;
  for (const std::int64_t extent : shape) count *= extent;
  return count;
}

DType WeightSpec::dtype() const {
  static constexpr DType kTypes[] = {DType::kBF16, DType::kF32, DType::kF8E4M3FN, DType::kF8E8M0, DType::kU8};
  return kTypes[static_cast<std::size_t>(kind)];
}

std::string_view weight_group_name(WeightGroup group) {
  static constexpr std::string_view kNames[kNumWeightGroups] = {
      "embed",  "head",    "norm",           "hyper_connection", "attention",    "compressor", "indexer",
      "router", "experts", "shared_experts", "engram",           "engram_table", "draft",      "vision"};
  return kNames[static_cast<std::size_t>(group)];
}

std::vector<std::string_view> accepted_dtypes(WeightKind kind) {
  switch (kind) {
    case WeightKind::kBF16: return {"BF16"};
    case WeightKind::kF32: return {"F32"};
    case WeightKind::kE4M3: return {"F8_E4M3"};
    case WeightKind::kE8M0: return {"F8_E8M0", "U8"};
    case WeightKind::kFp4: return {"I8", "U8", "F4"};
  }
  return {};
}

std::vector<WeightSpec> weight_table(const ModelConfig& config, DraftLayers drafts) {
  return Builder(config, drafts).run();
}

bool is_ignored_name(std::string_view name) {
  return name.starts_with("vision.") || name.starts_with("aligner.") || name == "image_start" || name == "image_end" ||
         name == "image_newline";
}

}  // namespace deepinfer::checkpoint
