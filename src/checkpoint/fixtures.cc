#include "checkpoint/fixtures.h"

#include "base/error.h"

namespace deepinfer::checkpoint {
namespace {

constexpr std::uint64_t kSeed = 20260910;

constexpr Fixture kFixtures[] = {
    {"order", "T7: 32 experts, top 6: order of fp32 accumulation"},
    {"lone", "one window layer, no Engram, no drafts"},
    {"owners", "every layer owns and selects, ratios 2 and 1, no window layer, no candidates"},
    {"groups", "8 output groups of 2 heads, 3 residual streams"},
    {"bigram", "Engram of order 2 only, 3 heads, in the first layer; one draft stage"},
};

// T0 of model.md 12: five layers with every branch.
ModelConfig base_config() {
  ModelConfig c;
  c.vocab_size = 512;
  c.hidden_size = 128;
  c.moe_intermediate_size = 64;
  c.num_hidden_layers = 5;
  c.num_attention_heads = 4;
  c.head_dim = 64;
  c.qk_rope_head_dim = 16;
  c.q_lora_rank = 64;
  c.o_lora_rank = 32;
  c.o_groups = 2;
  c.swiglu_limit = 2.5;
  c.rms_norm_eps = 1e-20;
  c.max_position_embeddings = 65536;
  c.rope_theta = 10000;
  c.compress_rope_theta = 160000;
  c.rope_factor = 16;
  c.rope_beta_fast = 32;
  c.rope_beta_slow = 1;
  c.original_max_position_embeddings = 4096;
  c.n_routed_experts = 8;
  c.n_shared_experts = 1;
  c.num_experts_per_tok = 2;
  c.routed_scaling_factor = 1.5;
  c.sliding_window = 8;
  c.compress_ratios = {0, 2, 2, 1, 1, 0, 0};
  c.kv_source_layer_ids = {1, 3};
  c.index_source_layer_ids = {1, 3, 4};
  c.index_n_heads = 2;
  c.index_head_dim = 32;
  c.index_topk = 8;
  c.candidate_source_layer_id = 3;
  c.candidate_topk_blocks = 4;
  c.candidate_block_size = 4;
  c.hc_mult = 4;
  c.hc_sinkhorn_iters = 20;
  c.hc_eps = 1e-6;
  c.engram_layer_ids = {1, 4};
  c.engram_max_ngram_size = 4;
  c.engram_n_heads = 2;
  c.engram_head_dim = 32;
  c.engram_vocab_size = 64;
  c.engram_pad_token_id = 2;
  c.engram_compressed_vocab_size = 443;
  c.num_nextn_predict_layers = 2;
  c.dspark_block_size = 3;
  c.dspark_noise_token_id = 450;
  c.dspark_target_layer_ids = {3, 4};
  c.dspark_markov_rank = 32;
  c.dspark_n_routed_experts = 4;
  c.dspark_num_experts_per_tok = 2;
  c.image_token_id = 502;
  return c;
}

void drop_drafts(ModelConfig& c) {
  c.num_nextn_predict_layers = 0;
  c.dspark_block_size = 0;
  c.dspark_target_layer_ids.clear();
}

void make_order(ModelConfig& c) {
  c.n_routed_experts = 32;
  c.num_experts_per_tok = 6;
}

void make_lone(ModelConfig& c) {
  c.num_hidden_layers = 1;
  c.compress_ratios = {0};
  c.kv_source_layer_ids.clear();
  c.index_source_layer_ids.clear();
  c.candidate_source_layer_id = -1;
  c.engram_layer_ids.clear();
  drop_drafts(c);
}

void make_owners(ModelConfig& c) {
  c.num_hidden_layers = 4;
  c.compress_ratios = {2, 1, 2, 1};
  c.kv_source_layer_ids = {0, 1, 2, 3};
  c.index_source_layer_ids = {0, 1, 2, 3};
  c.candidate_source_layer_id = -1;
  c.engram_layer_ids = {1};
  drop_drafts(c);
}

void make_groups(ModelConfig& c) {
  c.num_attention_heads = 16;
  c.o_groups = 8;
  c.hc_mult = 3;
}

void make_bigram(ModelConfig& c) {
  c.engram_layer_ids = {0};
  c.engram_max_ngram_size = 2;
  c.engram_n_heads = 3;
  c.num_nextn_predict_layers = 1;
  c.compress_ratios = {0, 2, 2, 1, 1, 0};
}

using Maker = void (*)(ModelConfig&);
constexpr Maker kMakers[] = {make_order, make_lone, make_owners, make_groups, make_bigram};
static_assert(std::size(kMakers) == std::size(kFixtures));

}  // namespace

std::span<const Fixture> fixtures() { return kFixtures; }

Result<ModelConfig> fixture_config(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < std::size(kFixtures); ++i) {
    known += fmt::format("{}{}", known.empty() ? "" : ", ", kFixtures[i].name);
    if (kFixtures[i].name != name) continue;
    ModelConfig config = base_config();
    kMakers[i](config);
    DI_ASSIGN(const auto layouts, engram_layouts(config.engram_shape()));
    for (const EngramLayout& layout : layouts) config.engram_num_embeddings.push_back(layout.rows);
    return config;
  }
  return errorf(ErrorCode::kNotFound, "no fixture {}, accepted: {}", name, known);
}

Result<Checkpoint> fixture_checkpoint(std::string_view name) {
  DI_ASSIGN(const ModelConfig config, fixture_config(name));
  return Checkpoint::dummy(config, kSeed);
}

}  // namespace deepinfer::checkpoint
