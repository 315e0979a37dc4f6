// Names of the four styles, one by one and as whole checkpoints.
#include "checkpoint/name_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "checkpoint/checkpoint.h"
#include "checkpoint/test_folder.h"

namespace deepinfer::checkpoint {
namespace {

using testing::HasSubstr;
using testing_support::Folder;
using testing_support::golden_dir;
using testing_support::TempDir;

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

// The inverse mapping, written independently of the table under test: official -> style B.
std::string style_b(std::string name, int layers) {
  if (name == "embed.weight") return "model.embed_tokens.weight";
  if (name == "head.weight") return "lm_head.weight";
  if (name.starts_with("mtp.")) name = "layers." + std::to_string(layers + name[4] - '0') + name.substr(5);
  static const std::vector<std::pair<std::string, std::string>> kRules = {
      {".attn.indexer.", ".attn.INDEXER."},
      {".engram.", ".ENGRAM."},
      {".hc_attn_", ".attn_hc."},
      {".hc_ffn_", ".ffn_hc."},
      {".attn_norm.", ".input_layernorm."},
      {".ffn_norm.", ".post_attention_layernorm."},
      {".compressor.wgate", ".compressor.gate_proj"},
      {".compressor.wkv", ".compressor.WKV"},
      {".attn_sink", ".sinks"},
      {".attn.wq_a", ".attn.q_a_proj"},
      {".attn.q_norm", ".attn.q_a_norm"},
      {".attn.wq_b", ".attn.q_b_proj"},
      {".attn.wkv", ".attn.kv_proj"},
      {".attn.wo_a", ".attn.o_a_proj"},
      {".attn.wo_b", ".attn.o_b_proj"},
      {".gate.bias_vl", ".gate.e_score_correction_bias_vl"},
      {".w1.", ".gate_proj."},
      {".w3.", ".up_proj."},
      {".w2.", ".down_proj."},
      {".attn.", ".self_attn."},
      {".ffn.", ".mlp."},
      {"INDEXER", "indexer"},
      {"ENGRAM", "engram"},
      {"WKV", "wkv"}};
  for (const auto& [from, to] : kRules) replace_all(name, from, to);
  if (name.ends_with(".gate.bias")) replace_all(name, ".gate.bias", ".gate.e_score_correction_bias");
  const bool hyper = name.find("_hc.") != std::string::npos;
  if (name.ends_with(".scale") && !hyper) replace_all(name, ".scale", ".weight_scale_inv");
  return "model." + name;
}

Folder renamed(const std::function<std::string(const std::string&)>& rename) {
  Folder folder = Folder::load(golden_dir("micro"));
  for (auto& tensor : folder.tensors) tensor.name = rename(tensor.name);
  return folder;
}

// Opens the folder and compares every bound tensor with the golden checkpoint's bytes.
void expect_same_as_micro(const Folder& folder, NameStyle style) {
  const TempDir dir;
  folder.write(dir);
  const auto loaded = Checkpoint::open(dir.path());
  ASSERT_TRUE(loaded) << loaded.error().to_string();
  EXPECT_EQ(loaded->report().style, style);
  const auto original = Checkpoint::open(golden_dir("micro"));
  ASSERT_EQ(loaded->report().tensors_bound, original->report().tensors_bound);
  for (const WeightSpec& spec : original->table()) {
    const WeightView* expected = original->find(spec.name);
    if (expected == nullptr) continue;
    const WeightView* found = loaded->find(spec.name);
    ASSERT_NE(found, nullptr) << spec.name;
    EXPECT_EQ(std::memcmp(found->data, expected->data, expected->bytes().size()), 0) << spec.name;
  }
}

std::string prefixed(const std::string& name) { return "model." + name; }
std::string style_a(const std::string& name) { return name == "head.weight" ? "lm_head.weight" : "model." + name; }

TEST(NameMap, WholeCheckpointsInEveryStyle) {
  expect_same_as_micro(renamed([](const std::string& name) { return name; }), NameStyle::kOfficial);
  expect_same_as_micro(renamed(prefixed), NameStyle::kPrefixed);
  expect_same_as_micro(renamed(style_a), NameStyle::kHfA);
  expect_same_as_micro(renamed([](const std::string& name) { return name.starts_with("mtp.") ? name : style_a(name); }),
                       NameStyle::kHfA);
  expect_same_as_micro(renamed([](const std::string& name) { return style_b(name, 5); }), NameStyle::kHfB);
}

TEST(NameMap, StyleBWithPackedExperts) {
  Folder folder = renamed([](const std::string& name) { return style_b(name, 5); });
  for (const char* layer : {"0", "3", "5"}) {
    for (const char* part : {"gate_proj.weight", "up_proj.weight_scale_inv", "down_proj.weight"}) {
      const std::string base = std::string("model.layers.") + layer + ".mlp.experts.";
      const int experts = layer[0] == '5' ? 4 : 8;
      auto packed = folder.at(base + "0." + part);
      packed.name = base + part;
      packed.shape.insert(packed.shape.begin(), experts);
      for (int expert = 0; expert < experts; ++expert) {
        const std::string name = base + std::to_string(expert) + "." + part;
        if (expert > 0) packed.bytes += folder.at(name).bytes;
        folder.erase(name);
      }
      folder.tensors.push_back(packed);
    }
  }
  expect_same_as_micro(folder, NameStyle::kHfB);
}

TEST(NameMap, SpellingsOfStyleB) {
  const auto official = [](std::string_view name) { return official_name(name, NameStyle::kHfB, 40).value_or("?"); };
  EXPECT_EQ(official("model.layers.3.self_attn.sinks_param.weight"), "layers.3.attn.attn_sink");
  EXPECT_EQ(official("model.layers.42.mlp.gate.e_score_correction_bias"), "mtp.2.ffn.gate.bias");
  EXPECT_EQ(official("model.layers.8.self_attn.indexer.q_b_proj.weight"), "layers.8.attn.indexer.wq_b.weight");
  EXPECT_EQ(official("model.layers.1.engram.kv_proj.weight_scale_inv"), "layers.1.engram.wkv.scale");
  EXPECT_EQ(official("model.layers.1.attn_hc.scale"), "layers.1.hc_attn_scale");
  EXPECT_EQ(official("model.layers.39.ffn_hc.fn"), "layers.39.hc_ffn_fn");
  EXPECT_EQ(official("model.vision.blocks.0.attn.wo.weight"), "vision.blocks.0.attn.wo.weight");
  EXPECT_EQ(official("mtp.0.main_proj.weight_scale_inv"), "mtp.0.main_proj.scale");
}

TEST(NameMap, MixturesAreRefused) {
  struct Case {
    NameStyle style;
    const char* name;
  };
  for (const Case& test :
       {Case{NameStyle::kOfficial, "model.layers.0.attn.wq_a.weight"}, Case{NameStyle::kOfficial, "lm_head.weight"},
        Case{NameStyle::kPrefixed, "layers.0.attn.wq_a.weight"}, Case{NameStyle::kPrefixed, "lm_head.weight"},
        Case{NameStyle::kHfA, "layers.0.attn.wq_a.weight"}, Case{NameStyle::kHfA, "model.head.weight"},
        Case{NameStyle::kHfB, "model.embed.weight"}, Case{NameStyle::kHfB, "model.layers.0.attn.wq_a.weight"},
        Case{NameStyle::kHfB, "model.layers.0.self_attn.wq_b.weight"},
        Case{NameStyle::kHfB, "model.layers.0.self_attn.q_a_proj.scale"},
        Case{NameStyle::kHfB, "model.layers.0.hc_attn_fn"},
        Case{NameStyle::kHfB, "model.layers.0.mlp.experts.0.w1.weight"},
        Case{NameStyle::kHfB, "layers.0.self_attn.q_a_proj.weight"}}) {
    const auto name = official_name(test.name, test.style, 40);
    ASSERT_FALSE(name) << test.name;
    EXPECT_THAT(name.error().message, HasSubstr("mixed styles"));
  }
}

TEST(NameMap, MixedCheckpointsAreRefused) {
  Folder folder = renamed(style_a);
  folder.at("model.layers.2.attn.wq_a.weight").name = "layers.2.attn.wq_a.weight";
  const TempDir dir;
  folder.write(dir);
  const auto loaded = Checkpoint::open(dir.path());
  ASSERT_FALSE(loaded);
  EXPECT_THAT(loaded.error().to_string(), HasSubstr("layers.2.attn.wq_a.weight is not a name of the Hugging Face A"));

  Folder both = Folder::load(golden_dir("micro"));
  auto copy = both.at("embed.weight");
  copy.name = "model.embed_tokens.weight";
  both.tensors.push_back(copy);
  const TempDir second;
  both.write(second);
  const auto refused = Checkpoint::open(second.path());
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().to_string(), HasSubstr("mixed name styles"));
}

}  // namespace
}  // namespace deepinfer::checkpoint
