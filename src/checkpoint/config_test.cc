// Both file forms, their agreement, every relation of model.md 1.2, and the derived roles.
#include "checkpoint/config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/io.h"
#include "checkpoint/config_fields.h"
#include "checkpoint/test_folder.h"

namespace deepinfer::checkpoint {
namespace {

using base::Json;
using testing::HasSubstr;
using testing_support::golden_dir;

std::string text_of(const std::string& set, ConfigForm form) {
  const char* name = form == ConfigForm::kFlat ? "/inference/config.json" : "/config.json";
  return base::read_file(golden_dir(set) + name).value();
}
ModelConfig micro() { return load_config(golden_dir("micro")).value(); }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const auto at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string error_of(const Result<ModelConfig>& result) { return result ? "" : result.error().to_string(); }

TEST(Config, ReadsBothFormsAlike) {
  for (const std::string set : {"micro", "nosel", "ties", "geom", "wide"}) {
    const std::string hugging_face = text_of(set, ConfigForm::kHuggingFace);
    const std::string flat = text_of(set, ConfigForm::kFlat);
    const auto both = load_config_text(hugging_face, flat);
    ASSERT_TRUE(both) << error_of(both);
    const auto second = load_config_text(std::nullopt, flat);
    ASSERT_TRUE(second) << error_of(second);
    EXPECT_EQ(both->hc_mult, set == "geom" ? 2 : 4);
    ModelConfig same = *second;
    same.max_position_embeddings = both->max_position_embeddings;  // the flat form derives it: factor x original
    EXPECT_EQ(same, *both);
    EXPECT_EQ(second->max_position_embeddings, 16 * both->original_max_position_embeddings);
  }
}

TEST(Config, ReleasedValuesSurviveBothForms) {
  const ModelConfig released = released_config();
  Problems problems;
  validate_config(released, problems);
  EXPECT_TRUE(problems.empty()) << problems.to_status("").error().to_string();
  for (const ConfigForm form : {ConfigForm::kHuggingFace, ConfigForm::kFlat}) {
    const ModelConfig back = parse_config(config_to_json(released, form), form, problems);
    EXPECT_TRUE(problems.empty()) << problems.to_status("").error().to_string();
    EXPECT_EQ(back, released);
  }
  EXPECT_TRUE(load_config_text(base::dump_json(config_to_json(released, ConfigForm::kHuggingFace)),
                               base::dump_json(config_to_json(released, ConfigForm::kFlat))));
}

TEST(Config, EveryFieldIsRequiredExceptTheListedOnes) {
  for (const ConfigForm form : {ConfigForm::kHuggingFace, ConfigForm::kFlat}) {
    const Json whole = config_to_json(micro(), form);
    for (const ConfigField& field : config_fields()) {
      const auto key = form == ConfigForm::kFlat ? field.flat : field.hugging_face;
      if (key.empty()) continue;
      // Renames the last part of the key, which leaves the file without it.
      const auto leaf = key.substr(key.rfind('.') == std::string_view::npos ? 0 : key.rfind('.') + 1);
      const std::string text = replaced(base::dump_json(whole), fmt::format("\"{}\":", leaf), "\"removed\":");
      const bool is_flat = form == ConfigForm::kFlat;
      const auto config = load_config_text(is_flat ? std::nullopt : std::optional<std::string_view>(text),
                                           is_flat ? std::optional<std::string_view>(text) : std::nullopt);
      if (field.presence == Presence::kOptional) {
        EXPECT_TRUE(config) << key << error_of(config);
      } else {
        EXPECT_THAT(error_of(config), HasSubstr(std::string(key) + ": is missing"));
      }
    }
  }
}

TEST(Config, DifferencesBetweenTheFormsAreAllListed) {
  std::string flat = text_of("micro", ConfigForm::kFlat);
  flat = replaced(flat, "\"dim\": 128", "\"dim\": 160");
  flat = replaced(flat, "\"route_scale\": 1.5", "\"route_scale\": 1.25");
  flat = replaced(flat, "\"swiglu_limit\": 2.5", "\"swiglu_limit\": 10");
  const auto config = load_config_text(text_of("micro", ConfigForm::kHuggingFace), flat);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, ErrorCode::kInvalidArgument);
  EXPECT_THAT(error_of(config), HasSubstr("3 problems"));
  EXPECT_THAT(error_of(config), HasSubstr("hidden_size: is 128 in config.json, but dim is 160"));
  EXPECT_THAT(error_of(config), HasSubstr("routed_scaling_factor: is 1.5"));
  EXPECT_THAT(error_of(config), HasSubstr("swiglu_limit: is 2.5"));
}

struct TextCase {
  const char* name;
  const char* from;
  const char* to;
  ErrorCode code;
  const char* message;
};
class HostileText : public testing::TestWithParam<TextCase> {};

TEST_P(HostileText, IsRefusedWithFieldValueAndAcceptedForm) {
  const TextCase& test = GetParam();
  const auto config =
      load_config_text(replaced(text_of("micro", ConfigForm::kHuggingFace), test.from, test.to), std::nullopt);
  ASSERT_FALSE(config);
  EXPECT_EQ(config.error().code, test.code) << error_of(config);
  EXPECT_THAT(error_of(config), HasSubstr(test.message));
}

constexpr auto kInvalid = ErrorCode::kInvalidArgument;
constexpr auto kUnsupported = ErrorCode::kUnsupported;
INSTANTIATE_TEST_SUITE_P(
    All, HostileText,
    testing::Values(
        TextCase{"Family", "\"deepseek_v41\"", "\"deepseek_v4\"", kUnsupported,
                 "model_type: is \"deepseek_v4\", accepted"},
        TextCase{"Architecture", "DeepseekV41ForCausalLM", "LlamaForCausalLM", kUnsupported, "architectures"},
        TextCase{"QuantMethod", "\"quant_method\": \"fp8\"", "\"quant_method\": \"awq\"", kUnsupported,
                 "quant_method: is \"awq\""},
        TextCase{"ScaleFormat", "\"ue8m0\"", "\"float\"", kUnsupported, "scale_fmt"},
        TextCase{"ExpertType", "\"fp4\"", "\"fp8\"", kUnsupported, "expert_dtype"},
        TextCase{"Block", "32,\n      32", "128,\n      128", kUnsupported,
                 "weight_block_size: is [128,128], accepted: [32,32]"},
        TextCase{"Activation", "\"silu\"", "\"gelu\"", kUnsupported, "hidden_act"},
        TextCase{"Router", "\"sqrtsoftplus\"", "\"softmax\"", kUnsupported, "scoring_func"},
        TextCase{"KvHeads", "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 4", kUnsupported,
                 "num_key_value_heads"},
        TextCase{"Renormalise", "\"norm_topk_prob\": true", "\"norm_topk_prob\": false", kUnsupported,
                 "norm_topk_prob"},
        TextCase{"Tied", "\"tie_word_embeddings\": false", "\"tie_word_embeddings\": true", kUnsupported,
                 "tie_word_embeddings"},
        TextCase{"Shifted", "\"hc_mult\"", "\"hc_shifted\": false, \"hc_mult\"", kUnsupported, "hc_shifted: is false"},
        TextCase{"SparseKv", "\"hc_mult\"", "\"use_fp4_sparse_kv\": false, \"hc_mult\"", kUnsupported,
                 "use_fp4_sparse_kv"},
        TextCase{"TapInput", "\"hc_mult\"", "\"dspark_target_attn_input\": false, \"hc_mult\"", kUnsupported,
                 "dspark_target_attn_input"},
        TextCase{"KeyOwners", "\"hc_mult\"", "\"index_k_source_layer_ids\": [1], \"hc_mult\"", kUnsupported,
                 "accepted: the KV owners [1, 3]"},
        TextCase{"HashLayers", "\"hc_mult\"", "\"num_hash_layers\": 3, \"hc_mult\"", kUnsupported, "num_hash_layers"},
        TextCase{"Fraction", "\"hidden_size\": 128", "\"hidden_size\": 128.0", kInvalid,
                 "hidden_size: is 128.0, accepted: an integer"},
        TextCase{"String", "\"hidden_size\": 128", "\"hidden_size\": \"128\"", kInvalid, "hidden_size: is \"128\""},
        TextCase{"Negative", "\"num_hidden_layers\": 5", "\"num_hidden_layers\": -5", kInvalid,
                 "num_hidden_layers: is -5"},
        TextCase{"HugeLayers", "\"num_hidden_layers\": 5", "\"num_hidden_layers\": 1000000000", kInvalid,
                 "num_hidden_layers"},
        TextCase{"Above63Bits", "\"vocab_size\": 512", "\"vocab_size\": 9223372036854775808", kInvalid, "vocab_size"},
        TextCase{"NullValue", "\"vocab_size\": 512", "\"vocab_size\": null", kInvalid, "vocab_size: is null"},
        TextCase{"InfiniteNumber", "\"swiglu_limit\": 2.5", "\"swiglu_limit\": 1e999", ErrorCode::kDataCorruption, ""},
        TextCase{"WindowZero", "\"sliding_window\": 8", "\"sliding_window\": 0", kInvalid, "sliding_window: is 0"},
        TextCase{"ListOfStrings", "\"engram_layer_ids\": [\n      1,", "\"engram_layer_ids\": [\n      \"1\",",
                 kInvalid, "engram_layer_ids"},
        TextCase{"DuplicateKey", "\"hc_mult\": 4", "\"hc_mult\": 4, \"hc_mult\": 4", ErrorCode::kDataCorruption,
                 "duplicate key"},
        TextCase{"NotJson", "{", "", ErrorCode::kDataCorruption, "config.json"}),
    [](const testing::TestParamInfo<TextCase>& param) { return param.param.name; });

TEST(Config, OptionalKeysAreAcceptedWithTheirDefaults) {
  const auto config =
      load_config_text(replaced(text_of("micro", ConfigForm::kHuggingFace), "\"hc_mult\"",
                                R"("hc_shifted": true, "use_fp4_sparse_kv": true, "dspark_target_attn_input": true,
                  "index_k_source_layer_ids": [1, 3], "gate_temp": 0.5, "transformers_version": "x", "hc_mult")"),
                       std::nullopt);
  ASSERT_TRUE(config) << error_of(config);
  EXPECT_EQ(config->gate_temp, 0.5);
}

TEST(Config, PadKeyOfEngramHasTwoSpellings) {
  const auto config = load_config_text(
      replaced(text_of("micro", ConfigForm::kHuggingFace), "engram_pad_token_id", "engram_pad_id"), std::nullopt);
  ASSERT_TRUE(config) << error_of(config);
  EXPECT_EQ(config->engram_pad_token_id, 2);
}

TEST(Config, MissingFilesAreNotFound) {
  EXPECT_EQ(load_config_text(std::nullopt, std::nullopt).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(load_config("/nonexistent").error().code, ErrorCode::kNotFound);
}

struct RelationCase {
  const char* name;
  std::function<void(ModelConfig&)> change;
  const char* message;
};
class Relation : public testing::TestWithParam<RelationCase> {};

TEST_P(Relation, ViolationIsNamed) {
  ModelConfig config = micro();
  GetParam().change(config);
  Problems problems;
  validate_config(config, problems);
  ASSERT_FALSE(problems.empty());
  EXPECT_THAT(problems.to_status("").error().to_string(), HasSubstr(GetParam().message));
}

using C = ModelConfig;
INSTANTIATE_TEST_SUITE_P(
    All, Relation,
    testing::Values(
        RelationCase{"RatiosShort", [](C& c) { c.compress_ratios.pop_back(); }, "has 6 entries, accepted: 7"},
        RelationCase{"RatiosWithoutDrafts", [](C& c) { c.compress_ratios.resize(5); }, "has 5 entries, accepted: 7"},
        RelationCase{"RatioOfV4", [](C& c) { c.compress_ratios[1] = 4; }, "entry 1 is 4, accepted: 0, 1, 2"},
        RelationCase{"DraftRatio", [](C& c) { c.compress_ratios[6] = 1; }, "entry 6 (a draft layer) is 1, accepted: 0"},
        RelationCase{"KvOwnerNoSelection",
                     [](C& c) {
                       c.index_source_layer_ids = {3, 4};
                     },
                     "every KV owner must be a selection owner"},
        RelationCase{"KvOwnerOfRatio0",
                     [](C& c) {
                       c.kv_source_layer_ids = {0, 1, 3};
                     },
                     "owner 0 has ratio 0"},
        RelationCase{"SelectionOwnerOfRatio0",
                     [](C& c) {
                       c.index_source_layer_ids = {0, 1, 3, 4};
                     },
                     "index_source_layer_ids: owner 0 has ratio 0"},
        RelationCase{"NoOwnerBefore", [](C& c) { c.kv_source_layer_ids = {3}; }, "layer 1 has ratio 2 and no KV owner"},
        RelationCase{"ConsumerRatio", [](C& c) { c.compress_ratios[2] = 1; },
                     "layer 2 has ratio 1, its KV owner 1 has 2"},
        RelationCase{"OwnersUnsorted",
                     [](C& c) {
                       c.kv_source_layer_ids = {3, 1};
                     },
                     "ascending layer ids"},
        RelationCase{"OwnersTwice",
                     [](C& c) {
                       c.index_source_layer_ids = {1, 3, 3};
                     },
                     "ascending layer ids"},
        RelationCase{"OwnerOutside",
                     [](C& c) {
                       c.index_source_layer_ids = {1, 3, 5};
                     },
                     "from 0 to 4"},
        RelationCase{"CandidateNoOwner", [](C& c) { c.candidate_source_layer_id = 2; },
                     "candidate_source_layer_id: is 2"},
        RelationCase{"CandidateNoBlocks", [](C& c) { c.candidate_topk_blocks = 0; }, "candidate_topk_blocks: is 0"},
        RelationCase{"CandidateEmptyBlock", [](C& c) { c.candidate_block_size = 0; }, "candidate_block_size: is 0"},
        RelationCase{"Hidden", [](C& c) { c.hidden_size = 130; }, "hidden_size: is 130, accepted: multiples of 32"},
        RelationCase{"QueryRank", [](C& c) { c.q_lora_rank = 65; }, "q_lora_rank: is 65"},
        RelationCase{"ExpertWidth", [](C& c) { c.moe_intermediate_size = 72; }, "moe_intermediate_size: is 72"},
        RelationCase{"IndexWidth", [](C& c) { c.index_head_dim = 40; }, "index_head_dim: is 40"},
        RelationCase{"HeadDim", [](C& c) { c.head_dim = 72; }, "head_dim: is 72"},
        RelationCase{"OutputRank", [](C& c) { c.o_lora_rank = 8; }, "o_groups x o_lora_rank: is 16"},
        RelationCase{"Groups", [](C& c) { c.o_groups = 3; }, "o_groups: is 3, accepted: divisors"},
        RelationCase{"RotaryOdd", [](C& c) { c.qk_rope_head_dim = 15; }, "qk_rope_head_dim: is 15"},
        RelationCase{"RotaryWide", [](C& c) { c.qk_rope_head_dim = 64; }, "at most index_head_dim 32"},
        RelationCase{"TopK", [](C& c) { c.num_experts_per_tok = 9; }, "at most n_routed_experts 8"},
        RelationCase{"EngramRows", [](C& c) { c.engram_num_embeddings[1] = 631; },
                     "entry 1 (layer 4) is 631, accepted: 630"},
        RelationCase{"EngramCounts", [](C& c) { c.engram_num_embeddings.pop_back(); }, "has 1 entries, accepted: 2"},
        RelationCase{"EngramLayer", [](C& c) { c.engram_layer_ids[1] = 5; }, "engram_layer_ids"},
        RelationCase{"EngramWidth", [](C& c) { c.engram_head_dim = 16; }, "engram_head_dim: is 16"},
        RelationCase{"EngramClasses", [](C& c) { c.engram_compressed_vocab_size = 513; }, "at most vocab_size 512"},
        RelationCase{"EngramHeads", [](C& c) { c.engram_n_heads = 4000; }, "engram_vocab_size"},
        RelationCase{"EngramPad", [](C& c) { c.engram_pad_token_id = 512; }, "engram_pad_token_id: is 512"},
        RelationCase{"DraftBlock", [](C& c) { c.dspark_block_size = 0; }, "dspark_block_size: is 0"},
        RelationCase{"DraftTaps", [](C& c) { c.dspark_target_layer_ids = {}; }, "at least one layer id"},
        RelationCase{"DraftTapOutside", [](C& c) { c.dspark_target_layer_ids = {5}; }, "dspark_target_layer_ids"},
        RelationCase{"DraftTopK", [](C& c) { c.dspark_num_experts_per_tok = 5; }, "dspark_num_experts_per_tok: is 5"},
        RelationCase{"NoiseId", [](C& c) { c.dspark_noise_token_id = 512; }, "dspark_noise_token_id: is 512"},
        RelationCase{"ImageId", [](C& c) { c.image_token_id = 512; }, "image_token_id: is 512"},
        RelationCase{"EndId", [](C& c) { c.eos_token_id = 512; }, "eos_token_id: is 512"},
        RelationCase{"Yarn", [](C& c) { c.rope_beta_slow = 64; }, "above beta_slow 64"}),
    [](const testing::TestParamInfo<RelationCase>& param) { return param.param.name; });

TEST(Config, AllViolationsAreReportedOnce) {
  ModelConfig config = micro();
  config.hidden_size = 130;
  config.sliding_window = 8;
  config.num_experts_per_tok = 9;
  config.image_token_id = 600;
  Problems problems;
  validate_config(config, problems);
  EXPECT_EQ(problems.total(), 3);
}

TEST(Config, ReleasedRoles) {
  const ModelConfig c = released_config();
  int counts[4] = {};
  for (std::int64_t layer = 0; layer < 40; ++layer) ++counts[static_cast<int>(c.role(layer))];
  EXPECT_EQ(counts[0], 2);   // Window
  EXPECT_EQ(counts[1], 4);   // Full
  EXPECT_EQ(counts[2], 30);  // Reuse
  EXPECT_EQ(counts[3], 4);   // Reindex
  EXPECT_EQ(c.kv_source(1), -1);
  EXPECT_EQ(c.kv_source(7), 2);
  EXPECT_EQ(c.kv_source(39), 20);
  EXPECT_EQ(c.index_source(23), 20);
  EXPECT_EQ(c.index_source(31), 28);
  EXPECT_TRUE(c.is_candidate_source(20));
  EXPECT_FALSE(c.uses_candidates(20));
  EXPECT_TRUE(c.uses_candidates(24));
  EXPECT_FALSE(c.uses_candidates(14));
  EXPECT_TRUE(c.has_engram(14));
  EXPECT_EQ(c.engram_index(14), 1);
  EXPECT_TRUE(c.is_draft_tap(37));
  EXPECT_EQ(c.ratio(42), 0);
  EXPECT_EQ(c.engram_width(), 6144);
  EXPECT_EQ(c.hc_params(), 24);
  EXPECT_EQ(layer_role_name(c.role(28)), "Reindex");
}

}  // namespace
}  // namespace deepinfer::checkpoint
