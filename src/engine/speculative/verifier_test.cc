// The algebra of both acceptance modes on small vocabularies, without a model.
#include "engine/speculative/verifier.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "engine/speculative/length_policy.h"

namespace deepinfer::engine {
namespace {

std::vector<float> logs(const std::vector<double>& probabilities) {
  std::vector<float> out;
  for (const double p : probabilities) {
    out.push_back(p > 0 ? static_cast<float>(std::log(p)) : -std::numeric_limits<float>::infinity());
  }
  return out;
}

Sampler sampler_of(SpecAccept accept, double temperature, std::uint64_t seed, std::int64_t position = 1) {
  SamplingRules rules;
  rules.spec_accept = accept;
  rules.params.temperature = temperature;
  return {std::move(rules), std::vector<std::int32_t>(static_cast<std::size_t>(position)), seed};
}

TEST(LogProbRow, KeepsFiniteIdsOnly) {
  const LogProbRow row = log_prob_row(logs({0.25, 0, 0.75}));
  EXPECT_EQ(row.ids, (std::vector<std::int32_t>{0, 2}));
  EXPECT_NEAR(row.at(2), std::log(0.75), 1e-6);
  EXPECT_EQ(row.at(1), -std::numeric_limits<float>::infinity());
  EXPECT_EQ(row.at(9), -std::numeric_limits<float>::infinity());
}

TEST(AcceptsDraft, ProbabilityIsTheRatio) {
  const LogProbRow p = log_prob_row(logs({0.2, 0.5, 0.3, 0}));
  const LogProbRow q = log_prob_row(logs({0.4, 0.25, 0, 0.35}));
  EXPECT_TRUE(accepts_draft(p, q, 0, 0.499));
  EXPECT_FALSE(accepts_draft(p, q, 0, 0.501));
  EXPECT_TRUE(accepts_draft(p, q, 1, 1 - 0x1p-53));
  EXPECT_FALSE(accepts_draft(p, q, 2, 0));  // q = 0
  EXPECT_FALSE(accepts_draft(p, q, 3, 0));  // p = 0
  EXPECT_FALSE(accepts_draft(p, q, -1, 0));
}

TEST(ResidualToken, DrawsFromThePositiveDifference) {
  const LogProbRow p = log_prob_row(logs({0.2, 0.5, 0.3}));
  const LogProbRow q = log_prob_row(logs({0.6, 0.3, 0.1}));  // residual 0, 0.2, 0.2
  EXPECT_EQ(residual_token(p, q, 0), 1);
  EXPECT_EQ(residual_token(p, q, 0.499), 1);
  EXPECT_EQ(residual_token(p, q, 0.501), 2);
  // No mass left: p itself.
  EXPECT_EQ(residual_token(p, p, 0.1), 0);
  EXPECT_EQ(residual_token(p, p, 0.69), 1);
  // One-hot drafts: the draft is banned.
  EXPECT_EQ(residual_token(p, one_hot(1), 0.39), 0);
  EXPECT_EQ(residual_token(p, one_hot(1), 0.41), 2);
}

TEST(DecideRow, CoupledTokensNeverDependOnDrafts) {
  std::mt19937 random(1);
  int accepted = 0;
  for (int trial = 0; trial < 3000; ++trial) {
    std::vector<float> row(8);
    for (float& l : row) l = static_cast<float>(random() % 5);
    const double temperature = trial % 3 == 0 ? 0 : 0.8;
    const Sampler sampler = sampler_of(SpecAccept::kCoupled, temperature, random(), 1 + trial % 50);
    Proposal proposal;
    const RowDecision alone = *decide_row(sampler, row, proposal, 0);
    EXPECT_EQ(alone.draft, RowDecision::Draft::kNone);
    proposal.tokens = {static_cast<std::int32_t>(random() % 8)};
    const RowDecision with = *decide_row(sampler, row, proposal, 0);
    ASSERT_EQ(with.token, alone.token);
    ASSERT_EQ(with.draft == RowDecision::Draft::kAccepted, alone.token == proposal.tokens[0]);
    accepted += with.draft == RowDecision::Draft::kAccepted;
  }
  EXPECT_GT(accepted, 200);
}

TEST(DecideRow, GreedyIsTheSameInBothModes) {
  const std::vector<float> row{1, 4, 4};
  Proposal proposal;
  proposal.tokens = {2};
  proposal.log_probs = {one_hot(2)};
  for (const SpecAccept mode : {SpecAccept::kCoupled, SpecAccept::kRejection}) {
    EXPECT_EQ(decide_row(sampler_of(mode, 0, 7), row, proposal, 0)->token, 1);
  }
}

TEST(DecideRow, ForcedTokensOverrideRejection) {
  SamplingRules rules;
  rules.spec_accept = SpecAccept::kRejection;
  rules.params.golden_token_ids = {2};
  const Sampler sampler(rules, std::vector<std::int32_t>{0}, 3);
  Proposal proposal;
  proposal.tokens = {0};
  proposal.log_probs = {one_hot(0)};
  const RowDecision decision = *decide_row(sampler, std::vector<float>{9, 0, 0}, proposal, 0);
  EXPECT_EQ(decision.token, 2);
  EXPECT_EQ(decision.draft, RowDecision::Draft::kRejected);
}

// Drafts from q, judged against p: the emitted token has distribution p and acceptance is sum min(p, q).
TEST(DecideRow, RejectionKeepsTheDistribution) {
  const std::vector<double> p{0.05, 0.4, 0.25, 0.2, 0.1, 0};
  const std::vector<double> q{0.3, 0.3, 0.05, 0.15, 0, 0.2};
  const std::vector<float> target = logs(p);
  const std::vector<float> draft = logs(q);
  constexpr int kDraws = 100'000;
  std::vector<int> count(p.size());
  int accepted = 0;
  for (int n = 0; n < kDraws; ++n) {
    const Sampler sampler = sampler_of(SpecAccept::kRejection, 1, static_cast<std::uint64_t>(n), 1 + n % 5);
    Proposal proposal;
    proposal.tokens = {sampler.choose(draft, kDraftSeedOffset)};
    proposal.log_probs = {log_prob_row(draft)};
    const RowDecision decision = *decide_row(sampler, target, proposal, 0);
    ++count[static_cast<std::size_t>(decision.token)];
    accepted += decision.draft == RowDecision::Draft::kAccepted;
  }
  double chi = 0;
  for (std::size_t i = 0; i < 5; ++i) chi += std::pow(count[i] - p[i] * kDraws, 2) / (p[i] * kDraws);
  EXPECT_EQ(count[5], 0);
  EXPECT_LT(chi, 18.47);  // 99.9 %, 4 degrees of freedom
  EXPECT_NEAR(accepted / double{kDraws}, 0.05 + 0.3 + 0.05 + 0.15, 0.006);
}

TEST(LengthPolicy, ThresholdAndFixed) {
  LengthPolicy policy{SpecLength::kThreshold, 0.5, {1.0, 2.0}};
  EXPECT_TRUE(policy.keeps(0, 0.0F));
  EXPECT_FALSE(policy.keeps(0, -0.01F));
  policy.threshold = 0.7;  // sigma(1) = 0.731, sigma(0.5) = 0.622
  EXPECT_TRUE(policy.keeps(0, 1.0F));
  EXPECT_FALSE(policy.keeps(1, 1.0F));
  EXPECT_FALSE(policy.keeps(4, 1.0F));
  EXPECT_EQ(policy.acceptance(0, 1e30F), 1 / (1 + std::exp(-60.0)));
  policy.rule = SpecLength::kFixed;
  EXPECT_TRUE(policy.keeps(1, -100.0F));
}

}  // namespace
}  // namespace deepinfer::engine
