// Rules in order, filters against goldens, penalties, bans, log-probabilities, parameter ranges.
#include "engine/sampling/sampler.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "engine/sampling/draw.h"
#include "engine/sampling/logprobs.h"
#include "engine/sampling/processors.h"
#include "tensor/numeric/golden_file.h"

namespace deepinfer::engine {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Sampler make(SamplingParams params, std::vector<std::int32_t> prompt = {0}) {
  SamplingRules rules;
  rules.params = std::move(params);
  rules.end_ids = {1};
  return Sampler(std::move(rules), prompt, 42);
}

TEST(Processors, OrderTable) {
  std::vector<std::string> names;
  for (const Processor& p : processors()) names.emplace_back(p.name);
  EXPECT_THAT(names, ElementsAre("bans", "logit_bias", "penalties", "temperature", "top_k_top_p", "min_p"));
}

// Every row and setting of the golden, in the rules' order; margins below 1e-6 of top_p may be skipped.
TEST(Filters, GoldenKeepSetsAndProbabilities) {
  const numeric::testing::GoldenFile file("head_sampler.safetensors");
  const auto logits = file.read<float>("filters/logits");
  const auto settings = file.read<double>("filters/settings");
  const auto margin = file.read<double>("filters/margin");
  const auto chain = file.read<std::uint8_t>("filters/keep_chain");
  const auto chain_probs = file.read<float>("filters/chain_probs");
  const auto probs = file.read<float>("filters/probs");
  const std::size_t num_rows = 4;
  const std::size_t vocab = logits.size() / num_rows;
  const std::map<std::string, std::vector<std::uint8_t>> alone{
      {"top_k", file.read<std::uint8_t>("filters/keep_top_k")},
      {"min_p", file.read<std::uint8_t>("filters/keep_min_p")}};
  int checked = 0;
  for (std::size_t s = 0; s < settings.size() / 4; ++s) {
    for (std::size_t r = 0; r < num_rows; ++r) {
      const std::size_t at = s * num_rows + r;
      SamplingParams params;
      params.temperature = settings[s * 4];
      params.top_k = static_cast<std::int64_t>(settings[s * 4 + 1]);
      params.top_p = settings[s * 4 + 2];
      params.min_p = settings[s * 4 + 3];
      const std::span row = std::span(logits).subspan(r * vocab, vocab);
      const auto compare = [&](const SamplingParams& p, const std::vector<std::uint8_t>& keep) {
        const auto processed = make(p).process(row);
        ASSERT_TRUE(processed);
        for (std::size_t i = 0; i < vocab; ++i) {
          if (row[i] == kRemoved) continue;  // the golden's sets count ids that were masked before
          ASSERT_EQ((*processed)[i] != kRemoved, keep[at * vocab + i] != 0)
              << "setting " << s << " row " << r << " id " << i;
        }
      };
      SamplingParams only_k = params;
      only_k.top_p = 1;
      only_k.min_p = 0;
      compare(only_k, alone.at("top_k"));
      SamplingParams only_min = params;
      only_min.top_p = 1;
      only_min.top_k = -1;
      compare(only_min, alone.at("min_p"));
      SamplingParams none = only_min;
      none.min_p = 0;
      const auto plain = *make(none).process(row);
      const LogSoftmax soft(plain);
      for (std::size_t i = 0; i < vocab; ++i) {
        ASSERT_NEAR(std::exp(soft.at(static_cast<std::int32_t>(i))), probs[at * vocab + i],
                    1e-9 + 1e-5 * probs[at * vocab + i]);
      }
      if (margin[at] < 1e-6) continue;
      ++checked;
      compare(params, chain);
      const auto processed = *make(params).process(row);
      const LogSoftmax kept(processed);
      for (std::size_t i = 0; i < vocab; ++i) {
        if (processed[i] == kRemoved) continue;
        ASSERT_NEAR(std::exp(kept.at(static_cast<std::int32_t>(i))), chain_probs[at * vocab + i],
                    1e-9 + 2e-5 * chain_probs[at * vocab + i]);
      }
    }
  }
  EXPECT_GE(checked, 28);
}

std::vector<std::int32_t> kept_ids(const std::vector<float>& row) {
  std::vector<std::int32_t> out;
  for (std::int32_t id = 0; id < std::ssize(row); ++id) {
    if (row[id] != kRemoved) out.push_back(id);
  }
  return out;
}

TEST(Filters, TopKKeepsLowerIdsOfTies) {
  SamplingParams params;
  params.top_k = 2;
  EXPECT_THAT(kept_ids(*make(params).process(std::vector<float>{1, 5, 5, 5, 0})), ElementsAre(1, 2));
  params.top_k = 100;
  EXPECT_EQ(kept_ids(*make(params).process(std::vector<float>{1, 5, 5, 5, 0})).size(), 5U);
}

TEST(Filters, TopPIsRenormalisedAfterTopK) {
  // Probabilities 0.4, 0.3, 0.2, 0.1. top_k 2 leaves 4/7 and 3/7, so top_p 0.5 keeps one id; alone it keeps two.
  const std::vector<float> row{std::log(0.4F), std::log(0.3F), std::log(0.2F), std::log(0.1F)};
  SamplingParams params;
  params.top_p = 0.5;
  EXPECT_THAT(kept_ids(*make(params).process(row)), ElementsAre(0, 1));
  params.top_k = 2;
  EXPECT_THAT(kept_ids(*make(params).process(row)), ElementsAre(0));
}

TEST(Filters, TinyTopPKeepsOneAndFullTopPKeepsAll) {
  const std::vector<float> row{-80, 0, -40, 3};
  SamplingParams params;
  params.top_p = 1e-9;
  EXPECT_THAT(kept_ids(*make(params).process(row)), ElementsAre(3));
  params.top_p = 1;
  EXPECT_EQ(kept_ids(*make(params).process(row)).size(), 4U);
}

TEST(Penalties, Formulas) {
  SamplingParams params;
  params.repetition_penalty = 2;
  params.frequency_penalty = 0.5;
  params.presence_penalty = 0.25;
  Sampler sampler = make(params, {3, 3});
  sampler.history().push(2);
  sampler.history().push(2);
  sampler.history().push(4);
  const auto row = *sampler.process(std::vector<float>{1, 1, 4, -3, -1});
  // 3 is in the prompt only: repetition alone. 2 twice, 4 once in the completion.
  EXPECT_THAT(row, ElementsAre(1, 1, 2 - 1 - 0.25F, -6, -2 - 0.5F - 0.25F));
  sampler.history().pop();
  EXPECT_EQ((*sampler.process(std::vector<float>{1, 1, 4, -3, -1}))[4], -1);
}

TEST(Bans, StaticAllowedMinTokensAndBadWords) {
  SamplingRules rules;
  rules.banned = {5, 1000};
  rules.end_ids = {1};
  rules.allowed = {0, 1, 2, 3, 5};
  rules.bad_words = {{3}, {2, 0}};
  rules.params.min_tokens = 1;
  Sampler sampler(rules, std::vector<std::int32_t>{2}, 0);
  const std::vector<float> row(7, 1);
  // The prompt's 2 does not complete a bad word: only the completion counts.
  EXPECT_THAT(kept_ids(*sampler.process(row)), ElementsAre(0, 2));
  sampler.history().push(2);
  EXPECT_THAT(kept_ids(*sampler.process(row)), ElementsAre(1, 2));
}

TEST(Bans, FirstTokenNoEos) {
  SamplingParams params;
  params.first_n_token_no_eos = 1;
  Sampler sampler = make(params);
  EXPECT_THAT(kept_ids(*sampler.process(std::vector<float>(3, 0))), ElementsAre(0, 2));
  sampler.history().push(0);
  EXPECT_EQ(kept_ids(*sampler.process(std::vector<float>(3, 0))).size(), 3U);
}

TEST(LogitBias, AddsBeforePenaltiesAndCannotReviveBans) {
  SamplingRules rules;
  rules.banned = {0};
  rules.params.logit_bias = {{0, 100}, {1, 2.5}};
  rules.params.repetition_penalty = 2;
  const auto row = *Sampler(rules, std::vector<std::int32_t>{1}, 0).process(std::vector<float>{9, -1, 0});
  EXPECT_THAT(row, ElementsAre(kRemoved, 0.75F, 0));
}

TEST(Greedy, IgnoresTemperatureAndFilters) {
  SamplingParams params;
  params.temperature = 9e-6;
  params.top_k = 1;
  const Sampler sampler = make(params);
  const auto row = *sampler.process(std::vector<float>{1, 7, 7, 2});
  EXPECT_THAT(row, ElementsAre(1, 7, 7, 2));
  EXPECT_EQ(sampler.choose(row), 1);
}

TEST(Sampler, ForcedTokensByIndex) {
  SamplingParams params;
  params.temperature = 0;
  params.golden_token_ids = {2, -1, 0};
  Sampler sampler = make(params);
  std::vector<std::int32_t> found;
  for (int i = 0; i < 4; ++i) {
    found.push_back(sampler.choose(*sampler.process(std::vector<float>{0, 5, 1})));
    sampler.history().push(found.back());
  }
  EXPECT_THAT(found, ElementsAre(2, 1, 0, 1));
}

TEST(Sampler, BadRowsAreErrorsOfTheRequest) {
  const float inf = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Sampler sampler = make({}, {4, 4, 4});
  for (const auto& row : {std::vector<float>{0, nan}, std::vector<float>{0, inf}, std::vector<float>{-inf, -inf}}) {
    const auto result = sampler.process(row);
    ASSERT_FALSE(result);
    EXPECT_THAT(result.error().message, HasSubstr("nonfinite_logits: position 3"));
  }
  SamplingRules rules;
  rules.banned = {0, 1};
  const auto none = Sampler(rules, std::vector<std::int32_t>{0}, 0).process(std::vector<float>{1, 2});
  ASSERT_FALSE(none);
  EXPECT_THAT(none.error().message, HasSubstr("grammar_no_token"));
}

TEST(LogSoftmax, ValuesOrderAndFloor) {
  const std::vector<float> row{std::log(0.25F), kRemoved, std::log(0.5F), std::log(0.25F)};
  const LogSoftmax soft(row);
  EXPECT_NEAR(soft.at(2), std::log(0.5), 1e-6);
  EXPECT_EQ(soft.at(1), kLogprobFloor);
  std::vector<std::int32_t> ids;
  for (const TokenLogprob& entry : soft.top(10)) {
    ids.push_back(entry.token_id);
    EXPECT_EQ(entry.logprob, soft.at(entry.token_id));
  }
  EXPECT_THAT(ids, ElementsAre(2, 0, 3, 1));
  EXPECT_EQ(soft.top(2).size(), 2U);
  EXPECT_NEAR(soft.sum_smaller(0), 0.5, 1e-6);
  EXPECT_NEAR(soft.sum_smaller(2), 1.0, 1e-6);
}

TEST(SamplingParams, DefaultsAreValid) { EXPECT_TRUE(validate({})); }

TEST(SamplingParams, EveryRangeNamesItsField) {
  using Change = std::function<void(SamplingParams&)>;
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const std::vector<std::pair<std::string, Change>> cases{
      {"temperature", [](auto& p) { p.temperature = 2.01; }},
      {"temperature", [](auto& p) { p.temperature = -0.1; }},
      {"temperature", [&](auto& p) { p.temperature = nan; }},
      {"top_p", [](auto& p) { p.top_p = 0; }},
      {"top_p", [](auto& p) { p.top_p = 1.5; }},
      {"top_k", [](auto& p) { p.top_k = -2; }},
      {"top_k", [](auto& p) { p.top_k = std::int64_t{1} << 31; }},
      {"min_p", [](auto& p) { p.min_p = 1.1; }},
      {"repetition_penalty", [](auto& p) { p.repetition_penalty = 0; }},
      {"presence_penalty", [](auto& p) { p.presence_penalty = 2.5; }},
      {"frequency_penalty", [](auto& p) { p.frequency_penalty = -2.5; }},
      {"logit_bias",
       [](auto& p) {
         p.logit_bias = {{4, 100.5}};
       }},
      {"logit_bias", [](auto& p) { p.logit_bias.resize(1025); }},
      {"max_tokens", [](auto& p) { p.max_tokens = 0; }},
      {"max_tokens", [](auto& p) { p.max_tokens = 393'217; }},
      {"min_tokens", [](auto& p) { p.min_tokens = 17; }},
      {"stop strings", [](auto& p) { p.stop.assign(65, "x"); }},
      {"stop string", [](auto& p) { p.stop = {""}; }},
      {"stop string", [](auto& p) { p.stop = {std::string(1025, 'x')}; }},
      {"bad_words", [](auto& p) { p.bad_words = {""}; }},
      {"logprobs", [](auto& p) { p.logprobs = 1001; }},
      {"num_choices", [](auto& p) { p.num_choices = 17; }},
      {"num_drafts", [](auto& p) { p.num_drafts = -1; }},
  };
  for (const auto& [field, change] : cases) {
    SamplingParams params;
    change(params);
    const auto status = validate(params);
    ASSERT_FALSE(status) << field;
    EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
    EXPECT_THAT(status.error().message, HasSubstr(field));
  }
  SamplingParams echo;
  echo.prompt_logprobs = PromptLogprobs::kOn;
  echo.max_tokens = 0;
  EXPECT_TRUE(validate(echo));
}

TEST(SamplingParams, IdsOutsideTheVocabulary) {
  SamplingParams params;
  params.golden_token_ids = {-1, 9};
  EXPECT_TRUE(check_ids(params, 10));
  params.golden_token_ids = {-2};
  EXPECT_FALSE(check_ids(params, 10));
  params.golden_token_ids = {};
  params.stop_token_ids = {10};
  const auto status = check_ids(params, 10);
  ASSERT_FALSE(status);
  EXPECT_THAT(status.error().message, HasSubstr("stop_token_ids is 10"));
}

}  // namespace
}  // namespace deepinfer::engine
