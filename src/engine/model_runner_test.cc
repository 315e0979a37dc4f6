// The model end to end against the goldens of the tiny checkpoints, and the same bits over chunks, modes and threads.
#include "engine/model_runner.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "checkpoint/safetensors.h"
#include "engine/graph_runner.h"
#include "tokenizer/fold_map.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::engine {
namespace {

namespace v41 = model::deepseek_v41;
const std::string kGolden = std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/model/";

std::shared_ptr<const v41::Model> load(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const v41::Model>> loaded;
  auto& model = loaded[name];
  if (!model) {
    const std::string dir = kGolden + name + "/checkpoint";
    const auto tokenizer = tokenizer::Tokenizer::from_file(dir + "/tokenizer.json");
    EXPECT_TRUE(tokenizer.has_value());
    auto result = v41::Model::load(dir, tokenizer::fold_map(*tokenizer));
    EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().to_string());
    model = *result;
  }
  return model;
}

struct Golden {
  checkpoint::SafetensorsFile file;
  ConstTensorRef get(const std::string& name) const {
    const auto tensor = file.tensor(name);
    EXPECT_TRUE(tensor.has_value()) << name;
    return *tensor;
  }
};

Golden open_golden(const std::string& path) {
  auto file = checkpoint::SafetensorsFile::open(kGolden + path);
  EXPECT_TRUE(file.has_value());
  return {std::move(*file)};
}

std::vector<std::int32_t> tokens_of(const ConstTensorRef& ref) {
  const auto* data = static_cast<const std::int32_t*>(ref.data);
  return {data, data + ref.type.num_elements()};
}

double rms_rel(const float* found, const float* expected, std::int64_t n) {
  double difference = 0;
  double size = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    difference += std::pow(double{found[i]} - double{expected[i]}, 2);
    size += std::pow(double{expected[i]}, 2);
  }
  return std::sqrt(difference / size);
}

std::unique_ptr<ModelRunner> make_runner(const std::string& model, RunnerOptions options = {}) {
  options.max_model_len = 1024;
  auto runner = ModelRunner::create(load(model), options);
  EXPECT_TRUE(runner.has_value()) << (runner ? "" : runner.error().to_string());
  return std::move(*runner);
}

// Logits of all positions, prefilled in chunks of `chunk` (0 = whole), the last `decode` tokens one by one.
std::vector<float> all_logits(ModelRunner& runner, const std::vector<std::int32_t>& ids, std::int64_t chunk,
                              std::int64_t decode = 0) {
  Sequence s = *runner.open_sequence();
  for (const std::int32_t id : ids) runner.append_token(s, id);
  EXPECT_TRUE(runner.reserve(s, static_cast<std::int64_t>(ids.size())));
  std::vector<float> out;
  const auto total = static_cast<std::int64_t>(ids.size());
  while (s.length < total) {
    const bool prefill = s.length < total - decode;
    const std::int64_t n = prefill ? std::min(chunk > 0 ? chunk : total, total - decode - s.length) : 1;
    const Tensor rows = prefill ? runner.prefill(std::array{PrefillItem{&s, n, LogitRows::kAll, nullptr}})
                                : runner.decode(std::array{DecodeItem{&s, 1}}).value();
    s.length += n;
    out.insert(out.end(), rows.as<float>(), rows.as<float>() + rows.type().num_elements());
  }
  runner.close_sequence(s);
  return out;
}

class GoldenModel : public ::testing::TestWithParam<const char*> {};

TEST_P(GoldenModel, PrefillOfShortPromptsIsTypical) {
  RunnerOptions options;
  options.modes.attention_list = model::AttentionList::kReference;
  auto runner = make_runner(GetParam(), options);
  const Golden golden = open_golden(std::string(GetParam()) + "/prefill.safetensors");
  for (const auto& [prompt, limit] : {std::pair{"p7", 1e-4}, std::pair{"p33", 5e-3}}) {
    const auto ids = tokens_of(golden.get(std::string(prompt) + ".tokens"));
    const ConstTensorRef expected = golden.get(std::string(prompt) + ".logits");
    const auto found = all_logits(*runner, ids, 0);
    ASSERT_EQ(static_cast<std::int64_t>(found.size()), expected.type.num_elements());
    const double error = rms_rel(found.data(), static_cast<const float*>(expected.data), expected.type.num_elements());
    EXPECT_LT(error, limit) << prompt;
    RecordProperty(prompt, std::to_string(error));
  }
}

TEST_P(GoldenModel, SameBitsForChunksDecodeModesAndThreads) {
  const Golden golden = open_golden("micro/prefill.safetensors");
  const auto ids = tokens_of(golden.get("p33.tokens"));
  auto whole = make_runner(GetParam());
  const auto expected = all_logits(*whole, ids, 0);
  for (const std::int64_t chunk : {1, 3, 7, 64}) EXPECT_EQ(all_logits(*whole, ids, chunk), expected) << chunk;
  EXPECT_EQ(all_logits(*whole, ids, 0, 32), expected);
  EXPECT_EQ(all_logits(*whole, ids, 5, 16), expected);
  RunnerOptions options;
  options.graph_mode = GraphMode::kEager;
  options.num_threads = 1;
  options.cpu_isa = "scalar";
  auto eager = make_runner(GetParam(), options);
  EXPECT_EQ(all_logits(*eager, ids, 0, 20), expected);
}

INSTANTIATE_TEST_SUITE_P(Tiny, GoldenModel, ::testing::Values("micro", "nosel", "ties", "geom", "wide"));

TEST(GraphRunner, Sizes) {
  using V = std::vector<std::int64_t>;
  EXPECT_EQ(graph_batch_sizes(32, 8), (V{1, 2, 4, 8, 16, 24, 32}));
  EXPECT_EQ(graph_batch_sizes(6, 8), (V{1, 2, 4, 6}));
  EXPECT_EQ(graph_batch_sizes(1, 8), (V{1}));
  EXPECT_EQ(graph_batch_sizes(20, 8), (V{1, 2, 4, 8, 16, 20}));
  EXPECT_EQ(graph_batch_sizes(48, 16), (V{1, 2, 4, 8, 16, 32, 48}));
}

}  // namespace
}  // namespace deepinfer::engine
