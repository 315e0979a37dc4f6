// Layer roles, relations between fields, and the released configuration.
#include <algorithm>

#include "base/check.h"
#include "checkpoint/config.h"

namespace deepinfer::checkpoint {
namespace {

using IntList = std::vector<std::int64_t>;

bool contains(const IntList& list, std::int64_t value) { return std::binary_search(list.begin(), list.end(), value); }

std::int64_t owner(const IntList& owners, std::int64_t layer) {
  const auto after = std::upper_bound(owners.begin(), owners.end(), layer);
  return after == owners.begin() ? -1 : *(after - 1);
}

bool strictly_ascending(const IntList& list) {
  return std::adjacent_find(list.begin(), list.end(), std::greater_equal<>()) == list.end();
}

std::string shown(const IntList& list) { return fmt::format("[{}]", fmt::join(list, ", ")); }

class Validator {
 public:
  Validator(const ModelConfig& config, Problems& problems) : c_(config), problems_(problems) {}

  void run() {
    ratios();
    if (owner_lists()) owners();
    candidates();
    shapes();
    experts();
    engram();
    drafts();
    ids();
  }

 private:
  template <typename... Args>
  void require(bool ok, const char* field, fmt::format_string<Args...> format, Args&&... args) {
    if (!ok) problems_.add(ErrorCode::kInvalidArgument, field, format, std::forward<Args>(args)...);
  }

  void ratios() {
    const auto entries = static_cast<std::int64_t>(c_.compress_ratios.size());
    require(entries == c_.num_layers_with_drafts(), "compress_ratios",
            "has {} entries, accepted: {} ({} layers and {} draft layers)", entries, c_.num_layers_with_drafts(),
            c_.num_hidden_layers, c_.num_nextn_predict_layers);
    for (std::int64_t i = 0; i < entries; ++i) {
      const std::int64_t value = c_.compress_ratios[static_cast<std::size_t>(i)];
      if (i >= c_.num_hidden_layers) {
        require(value == 0, "compress_ratios", "entry {} (a draft layer) is {}, accepted: 0", i, value);
      } else {
        require(value >= 0 && value <= 2, "compress_ratios", "entry {} is {}, accepted: 0, 1, 2", i, value);
      }
    }
  }

  bool layer_list(const char* field, const IntList& list) {
    const bool ok =
        strictly_ascending(list) && (list.empty() || (list.front() >= 0 && list.back() < c_.num_hidden_layers));
    require(ok, field, "is {}, accepted: ascending layer ids from 0 to {}", shown(list), c_.num_hidden_layers - 1);
    return ok;
  }

  bool owner_lists() {
    const bool kv = layer_list("kv_source_layer_ids", c_.kv_source_layer_ids);
    const bool index = layer_list("index_source_layer_ids", c_.index_source_layer_ids);
    return kv && index && static_cast<std::int64_t>(c_.compress_ratios.size()) >= c_.num_hidden_layers;
  }

  std::int64_t ratio_at(std::int64_t layer) const { return c_.compress_ratios[static_cast<std::size_t>(layer)]; }

  void owners() {
    for (const std::int64_t layer : c_.kv_source_layer_ids) {
      require(contains(c_.index_source_layer_ids, layer), "kv_source_layer_ids",
              "owner {} is not in index_source_layer_ids {}; every KV owner must be a selection owner", layer,
              shown(c_.index_source_layer_ids));
      require(ratio_at(layer) > 0, "kv_source_layer_ids", "owner {} has ratio 0, accepted: 1, 2", layer);
    }
    for (const std::int64_t layer : c_.index_source_layer_ids) {
      require(ratio_at(layer) > 0, "index_source_layer_ids", "owner {} has ratio 0, accepted: 1, 2", layer);
    }
    for (std::int64_t layer = 0; layer < c_.num_hidden_layers; ++layer) {
      if (ratio_at(layer) == 0) continue;
      const std::int64_t source = owner(c_.kv_source_layer_ids, layer);
      require(source >= 0, "kv_source_layer_ids", "is {}; layer {} has ratio {} and no KV owner at or before it",
              shown(c_.kv_source_layer_ids), layer, ratio_at(layer));
      if (source < 0) continue;
      require(ratio_at(source) == ratio_at(layer), "compress_ratios",
              "layer {} has ratio {}, its KV owner {} has {}; accepted: equal", layer, ratio_at(layer), source,
              ratio_at(source));
    }
  }

  void candidates() {
    if (!c_.candidates_on()) return;
    require(contains(c_.index_source_layer_ids, c_.candidate_source_layer_id), "candidate_source_layer_id",
            "is {}, accepted: negative (off) or one of {}", c_.candidate_source_layer_id,
            shown(c_.index_source_layer_ids));
    require(c_.candidate_topk_blocks > 0, "candidate_topk_blocks", "is {}, accepted: from 1", c_.candidate_topk_blocks);
    require(c_.candidate_block_size > 0, "candidate_block_size", "is {}, accepted: from 1", c_.candidate_block_size);
  }

  void multiple_of_32(const char* field, std::int64_t value) {
    require(value % 32 == 0, field, "is {}, accepted: multiples of 32 (the quantisation block)", value);
  }

  void shapes() {
    multiple_of_32("hidden_size", c_.hidden_size);
    multiple_of_32("q_lora_rank", c_.q_lora_rank);
    multiple_of_32("moe_intermediate_size", c_.moe_intermediate_size);
    multiple_of_32("index_head_dim", c_.index_head_dim);
    multiple_of_32("head_dim", c_.head_dim);
    multiple_of_32("o_groups x o_lora_rank", c_.output_rank());
    require(c_.num_attention_heads % c_.o_groups == 0, "o_groups",
            "is {}, accepted: divisors of num_attention_heads {}", c_.o_groups, c_.num_attention_heads);
    multiple_of_32("num_attention_heads x head_dim / o_groups", c_.output_group_width());
    require(
        c_.qk_rope_head_dim % 2 == 0 && c_.qk_rope_head_dim <= c_.index_head_dim && c_.qk_rope_head_dim <= c_.head_dim,
        "qk_rope_head_dim", "is {}, accepted: even, at most index_head_dim {} and head_dim {}", c_.qk_rope_head_dim,
        c_.index_head_dim, c_.head_dim);
    require(c_.rope_beta_fast > c_.rope_beta_slow, "rope_scaling.beta_fast", "is {}, accepted: above beta_slow {}",
            c_.rope_beta_fast, c_.rope_beta_slow);
  }

  void experts() {
    require(c_.num_experts_per_tok <= c_.n_routed_experts, "num_experts_per_tok",
            "is {}, accepted: at most n_routed_experts {}", c_.num_experts_per_tok, c_.n_routed_experts);
  }

  void engram() {
    if (!layer_list("engram_layer_ids", c_.engram_layer_ids)) return;
    require(c_.engram_num_embeddings.size() == c_.engram_layer_ids.size(), "engram_num_embeddings",
            "has {} entries, accepted: {} (one for each Engram layer)", c_.engram_num_embeddings.size(),
            c_.engram_layer_ids.size());
    if (c_.engram_layer_ids.empty() || c_.engram_num_embeddings.size() != c_.engram_layer_ids.size()) return;
    multiple_of_32("engram_head_dim", c_.engram_head_dim);
    multiple_of_32("(engram_max_ngram_size - 1) x engram_n_heads x engram_head_dim", c_.engram_width());
    require(c_.engram_compressed_vocab_size <= c_.vocab_size, "engram_compressed_vocab_size",
            "is {}, accepted: at most vocab_size {}", c_.engram_compressed_vocab_size, c_.vocab_size);
    const auto layouts = engram_layouts(c_.engram_shape());
    if (!layouts) {
      problems_.add({layouts.error().code, "engram_vocab_size", layouts.error().message});
      return;
    }
    for (std::size_t i = 0; i < layouts->size(); ++i) {
      require(c_.engram_num_embeddings[i] == (*layouts)[i].rows, "engram_num_embeddings",
              "entry {} (layer {}) is {}, accepted: {}, the sum of the layer's primes", i, c_.engram_layer_ids[i],
              c_.engram_num_embeddings[i], (*layouts)[i].rows);
    }
  }

  void drafts() {
    if (c_.num_nextn_predict_layers == 0) return;
    require(c_.dspark_block_size >= 1, "dspark_block_size", "is {}, accepted: from 1", c_.dspark_block_size);
    require(layer_list("dspark_target_layer_ids", c_.dspark_target_layer_ids) && !c_.dspark_target_layer_ids.empty(),
            "dspark_target_layer_ids", "is {}, accepted: at least one layer id, ascending",
            shown(c_.dspark_target_layer_ids));
    require(c_.dspark_num_experts_per_tok <= c_.dspark_n_routed_experts, "dspark_num_experts_per_tok",
            "is {}, accepted: at most dspark_n_routed_experts {}", c_.dspark_num_experts_per_tok,
            c_.dspark_n_routed_experts);
    id("dspark_noise_token_id", c_.dspark_noise_token_id);
  }

  void id(const char* field, std::int64_t value) {
    require(value >= 0 && value < c_.vocab_size, field, "is {}, accepted: 0 to {}", value, c_.vocab_size - 1);
  }

  void ids() {
    id("bos_token_id", c_.bos_token_id);
    id("eos_token_id", c_.eos_token_id);
    id("pad_token_id", c_.pad_token_id);
    id("image_token_id", c_.image_token_id);
    if (!c_.engram_layer_ids.empty()) id("engram_pad_token_id", c_.engram_pad_token_id);
  }

  const ModelConfig& c_;
  Problems& problems_;
};

}  // namespace

std::string_view layer_role_name(LayerRole role) {
  static constexpr std::string_view kNames[] = {"Window", "Full", "Reuse", "Reindex"};
  return kNames[static_cast<std::size_t>(role)];
}

std::int64_t ModelConfig::ratio(std::int64_t layer) const {
  DI_CHECK(layer >= 0 && layer < static_cast<std::int64_t>(compress_ratios.size()), "layer {} of {}", layer,
           compress_ratios.size());
  return compress_ratios[static_cast<std::size_t>(layer)];
}
std::int64_t ModelConfig::kv_source(std::int64_t layer) const {
  return ratio(layer) == 0 ? -1 : owner(kv_source_layer_ids, layer);
}
std::int64_t ModelConfig::index_source(std::int64_t layer) const {
  return ratio(layer) == 0 ? -1 : owner(index_source_layer_ids, layer);
}
bool ModelConfig::is_kv_source(std::int64_t layer) const { return contains(kv_source_layer_ids, layer); }
bool ModelConfig::is_index_source(std::int64_t layer) const { return contains(index_source_layer_ids, layer); }
bool ModelConfig::uses_candidates(std::int64_t layer) const {
  return candidates_on() && is_index_source(layer) && layer > candidate_source_layer_id;
}
std::int64_t ModelConfig::engram_index(std::int64_t layer) const {
  const auto at = std::find(engram_layer_ids.begin(), engram_layer_ids.end(), layer);
  return at == engram_layer_ids.end() ? -1 : at - engram_layer_ids.begin();
}
bool ModelConfig::is_draft_tap(std::int64_t layer) const { return contains(dspark_target_layer_ids, layer); }

LayerRole ModelConfig::role(std::int64_t layer) const {
  if (ratio(layer) == 0) return LayerRole::kWindow;
  if (is_kv_source(layer)) return LayerRole::kFull;
  return is_index_source(layer) ? LayerRole::kReindex : LayerRole::kReuse;
}

EngramShape ModelConfig::engram_shape() const {
  return {engram_vocab_size, engram_max_ngram_size, engram_n_heads, engram_compressed_vocab_size, engram_layer_ids};
}

void validate_config(const ModelConfig& config, Problems& problems) { Validator(config, problems).run(); }

ModelConfig released_config() {
  ModelConfig c;
  c.vocab_size = 129280;
  c.hidden_size = 5120;
  c.moe_intermediate_size = 2304;
  c.num_hidden_layers = 40;
  c.num_attention_heads = 64;
  c.head_dim = 512;
  c.qk_rope_head_dim = 64;
  c.q_lora_rank = 1280;
  c.o_lora_rank = 1024;
  c.o_groups = 8;
  c.swiglu_limit = 10.0;
  c.rms_norm_eps = 1e-20;
  c.max_position_embeddings = 1048576;
  c.rope_theta = 10000;
  c.compress_rope_theta = 160000;
  c.rope_factor = 16;
  c.rope_beta_fast = 32;
  c.rope_beta_slow = 1;
  c.original_max_position_embeddings = 65536;
  c.n_routed_experts = 384;
  c.n_shared_experts = 1;
  c.num_experts_per_tok = 6;
  c.routed_scaling_factor = 1.5;
  c.sliding_window = 128;
  c.compress_ratios.assign(43, 0);
  std::fill_n(c.compress_ratios.begin() + 2, 18, 2);
  std::fill_n(c.compress_ratios.begin() + 20, 20, 1);
  c.kv_source_layer_ids = {2, 8, 14, 20};
  c.index_source_layer_ids = {2, 8, 14, 20, 24, 28, 32, 36};
  c.index_n_heads = 32;
  c.index_head_dim = 128;
  c.index_topk = 512;
  c.candidate_source_layer_id = 20;
  c.candidate_topk_blocks = 2048;
  c.candidate_block_size = 8;
  c.hc_mult = 4;
  c.hc_sinkhorn_iters = 20;
  c.hc_eps = 1e-6;
  c.engram_layer_ids = {1, 14};
  c.engram_num_embeddings = {384006168, 384016682};
  c.engram_max_ngram_size = 4;
  c.engram_n_heads = 8;
  c.engram_head_dim = 256;
  c.engram_vocab_size = 16000000;
  c.engram_pad_token_id = 2;
  c.engram_compressed_vocab_size = 99092;
  c.num_nextn_predict_layers = 3;
  c.dspark_block_size = 5;
  c.dspark_noise_token_id = 128799;
  c.dspark_target_layer_ids = {37, 38, 39};
  c.dspark_markov_rank = 256;
  c.dspark_n_routed_experts = 128;
  c.dspark_num_experts_per_tok = 3;
  c.image_token_id = 129264;
  c.vision = VisionConfig{1024, 2816, 32, 16, 14, 10000, 3, 1024, 295936, std::nullopt};
  return c;
}

}  // namespace deepinfer::checkpoint
