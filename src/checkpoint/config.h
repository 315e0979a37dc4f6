// The model configuration: both file forms, agreement, validation, layer roles. Source: model.md 1.
//
// A checkpoint carries the Hugging Face form (config.json), the flat form (inference/config.json) or both; each field
// is declared once, in the table of config_fields.cc, with its key in either form. A missing key is an error: nothing
// falls back to a default except what model.md 1.1 lists (gate_temp 1, max_wh_ratio none, no vision block; in the flat
// form the context length, taken as factor x original length, and the ids of the three control tokens).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "checkpoint/engram_layout.h"
#include "checkpoint/problems.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

/// Vision tower of the release; loaded as numbers only, this build runs text.
struct VisionConfig {
  std::int64_t hidden_size = 0;
  std::int64_t intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t patch_size = 0;
  double rope_theta = 0;
  std::int64_t downsample_ratio = 0;
  std::int64_t max_image_tokens = 0;
  std::int64_t min_pixels = 0;
  std::optional<double> max_wh_ratio;
  bool operator==(const VisionConfig&) const = default;
};

enum class LayerRole : std::uint8_t {
  kWindow,   ///< window attention only
  kFull,     ///< owns compressed rows and selects among them
  kReuse,    ///< takes rows and selection of earlier layers
  kReindex,  ///< takes rows, makes its own selection
};
std::string_view layer_role_name(LayerRole role);  ///< "Window", "Full", "Reuse", "Reindex"

/// One model. Members have the names of `text_config`; sizes are counts of elements.
struct ModelConfig {
  // Trunk.
  std::int64_t vocab_size = 0;
  std::int64_t hidden_size = 0;
  std::int64_t moe_intermediate_size = 0;
  std::int64_t num_hidden_layers = 0;
  std::int64_t num_attention_heads = 0;
  std::int64_t head_dim = 0;
  std::int64_t qk_rope_head_dim = 0;
  std::int64_t q_lora_rank = 0;
  std::int64_t o_lora_rank = 0;
  std::int64_t o_groups = 0;
  double swiglu_limit = 0;
  double rms_norm_eps = 0;
  std::int64_t max_position_embeddings = 0;

  // Rotary tables; YaRN applies to layers with a ratio above 0 only.
  double rope_theta = 0;
  double compress_rope_theta = 0;
  double rope_factor = 0;
  double rope_beta_fast = 0;
  double rope_beta_slow = 0;
  std::int64_t original_max_position_embeddings = 0;

  // Experts.
  std::int64_t n_routed_experts = 0;
  std::int64_t n_shared_experts = 0;
  std::int64_t num_experts_per_tok = 0;
  double routed_scaling_factor = 0;
  double gate_temp = 1.0;

  // Compressed attention.
  std::int64_t sliding_window = 0;
  std::vector<std::int64_t> compress_ratios;         ///< [num_hidden_layers + draft layers]
  std::vector<std::int64_t> kv_source_layer_ids;     ///< ascending
  std::vector<std::int64_t> index_source_layer_ids;  ///< ascending, a superset of the KV owners
  std::int64_t index_n_heads = 0;
  std::int64_t index_head_dim = 0;
  std::int64_t index_topk = 0;
  std::int64_t candidate_source_layer_id = -1;  ///< negative = candidates off
  std::int64_t candidate_topk_blocks = 0;
  std::int64_t candidate_block_size = 0;

  // Hyper-connections.
  std::int64_t hc_mult = 0;
  std::int64_t hc_sinkhorn_iters = 0;
  double hc_eps = 0;

  // Engram.
  std::vector<std::int64_t> engram_layer_ids;       ///< ascending; empty = no Engram
  std::vector<std::int64_t> engram_num_embeddings;  ///< rows, one entry a layer id
  std::int64_t engram_max_ngram_size = 0;
  std::int64_t engram_n_heads = 0;
  std::int64_t engram_head_dim = 0;
  std::int64_t engram_vocab_size = 0;  ///< prime start
  std::int64_t engram_pad_token_id = 0;
  std::int64_t engram_compressed_vocab_size = 0;

  // Draft stages (mtp.K); 0 layers = no drafts.
  std::int64_t num_nextn_predict_layers = 0;
  std::int64_t dspark_block_size = 0;
  std::int64_t dspark_noise_token_id = 0;
  std::vector<std::int64_t> dspark_target_layer_ids;  ///< taps, ascending
  std::int64_t dspark_markov_rank = 0;
  std::int64_t dspark_n_routed_experts = 0;
  std::int64_t dspark_num_experts_per_tok = 0;

  // Ids of control tokens.
  std::int64_t bos_token_id = 0;
  std::int64_t eos_token_id = 1;
  std::int64_t pad_token_id = 2;
  std::int64_t image_token_id = 0;

  // Quantisation: edge of the square tile that one scale of a dense fp8 weight covers.
  std::int64_t weight_block_size = 32;

  std::optional<VisionConfig> vision;

  bool operator==(const ModelConfig&) const = default;

  // Roles. `layer` counts trunk layers 0 .. num_hidden_layers - 1, then draft layers.
  std::int64_t num_layers_with_drafts() const { return num_hidden_layers + num_nextn_predict_layers; }
  std::int64_t ratio(std::int64_t layer) const;
  /// Largest owner at or before `layer`; -1 for a layer of ratio 0.
  std::int64_t kv_source(std::int64_t layer) const;
  std::int64_t index_source(std::int64_t layer) const;
  bool is_kv_source(std::int64_t layer) const;
  bool is_index_source(std::int64_t layer) const;
  bool is_candidate_source(std::int64_t layer) const { return candidates_on() && layer == candidate_source_layer_id; }
  bool candidates_on() const { return candidate_source_layer_id >= 0; }
  /// A selection owner after the candidate owner: scores only the rows of the candidate blocks.
  bool uses_candidates(std::int64_t layer) const;
  bool has_engram(std::int64_t layer) const { return engram_index(layer) >= 0; }
  /// Position of `layer` in engram_layer_ids, -1 when it has no Engram.
  std::int64_t engram_index(std::int64_t layer) const;
  bool is_draft_tap(std::int64_t layer) const;
  LayerRole role(std::int64_t layer) const;

  // Derived widths.
  std::int64_t query_width() const { return num_attention_heads * head_dim; }
  std::int64_t output_group_width() const { return query_width() / o_groups; }
  std::int64_t output_rank() const { return o_groups * o_lora_rank; }
  std::int64_t hc_params() const { return hc_mult * (hc_mult + 2); }
  std::int64_t engram_columns() const { return (engram_max_ngram_size - 1) * engram_n_heads; }
  std::int64_t engram_width() const { return engram_columns() * engram_head_dim; }
  EngramShape engram_shape() const;
};

enum class ConfigForm : std::uint8_t { kHuggingFace, kFlat };

/// Parses one form; every missing, ill-typed, out-of-range and unsupported key goes to `problems` (kInvalidArgument;
/// kUnsupported for another architecture or quantisation). Does not validate relations between fields.
ModelConfig parse_config(const base::Json& root, ConfigForm form, Problems& problems);

/// Adds one problem for every value on which the two forms differ (only what both forms can state).
void compare_configs(const ModelConfig& hugging_face, const ModelConfig& flat, Problems& problems);

/// Relations of model.md 1.2; all violations are added.
void validate_config(const ModelConfig& config, Problems& problems);

/// Parses, compares and validates. Either text may be absent (nullopt), not both.
/// Errors: kInvalidArgument, kUnsupported, kDataCorruption (no JSON), kNotFound (both absent); all problems listed.
Result<ModelConfig> load_config_text(std::optional<std::string_view> hugging_face,
                                     std::optional<std::string_view> flat);

/// Reads `<dir>/config.json` and `<dir>/inference/config.json`.
Result<ModelConfig> load_config(const std::string& dir);

/// The configuration in one of its file forms; parse_config reads it back equal.
base::Json config_to_json(const ModelConfig& config, ConfigForm form);

/// DeepSeek-V4.1-Flash as released (model.md 1.1).
ModelConfig released_config();

}  // namespace deepinfer::checkpoint
