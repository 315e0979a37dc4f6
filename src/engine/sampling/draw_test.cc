// The logarithm, the noise and both draws: accuracy, exactness of the shortcut, and the right distribution.
#include "engine/sampling/draw.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "deepinfer/config.h"
#include "engine/sampling/natural_log.h"
#include "tensor/numeric/exp32.h"
#include "tensor/numeric/golden_file.h"

namespace deepinfer::engine {
namespace {

const float kOut = -std::numeric_limits<float>::infinity();

double ulps(double found, long double expected) {
  const double e = static_cast<double>(expected);
  const double ulp = std::nextafter(std::abs(e), std::numeric_limits<double>::infinity()) - std::abs(e);
  return static_cast<double>(std::abs(static_cast<long double>(found) - expected)) / ulp;
}

TEST(NaturalLog, WithinTwoUlp) {
  std::mt19937_64 random(1);
  double worst = 0;
  for (int i = 0; i < 1'000'000; ++i) {
    const double u = (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
    const double x = i % 3 == 0   ? u
                     : i % 3 == 1 ? std::ldexp(1 + u, static_cast<int>(random() % 120) - 60)
                                  : 1 + u * 0x1p-20;
    worst = std::max(worst, ulps(natural_log(x), std::log(static_cast<long double>(x))));
  }
  EXPECT_LT(worst, 2.0);
  EXPECT_GT(worst, 0.3);  // the comparison is not vacuous
}

TEST(NaturalLog, FixedValues) {
  EXPECT_EQ(natural_log(1.0), 0.0);
  EXPECT_EQ(natural_log(2.0), 0x1.62e42fefa39efp-1);
  EXPECT_EQ(natural_log(0.5), -0x1.62e42fefa39efp-1);
  for (const double x : {0x1p-54, 1e-300, 1e-10, 0.1, 0.7, 0.70710678, 0.9, 1 - 0x1p-53, 1 + 0x1p-52, 1.1, 1.4142135,
                         1.5, 3.0, 10.0, 37.43, 129280.0}) {
    EXPECT_LT(ulps(natural_log(x), std::log(static_cast<long double>(x))), 2.0) << x;
  }
}

TEST(GumbelNoise, FiniteAtBothEnds) {
  const std::uint64_t last = (std::uint64_t{1} << 53) - 1;
  EXPECT_LT(gumbel_noise(last), 37.5);
  EXPECT_GT(gumbel_noise(last), 37.4);
  EXPECT_LE(gumbel_noise(last - 1), gumbel_noise(last));
  EXPECT_NEAR(gumbel_noise(0), -std::log(54 * std::log(2.0)), 1e-12);
}

TEST(RandomStream, DependsOnSeedPositionCaseAndIndex) {
  const auto at = [](std::uint64_t seed, std::int64_t position, RandomCase c, std::uint32_t index) {
    return RandomStream(seed, position, c).bits(index)[0];
  };
  const auto base = at(7, 10, RandomCase::kDraw, 0);
  EXPECT_EQ(base, at(7, 10, RandomCase::kDraw, 0));
  EXPECT_NE(base, at(8, 10, RandomCase::kDraw, 0));
  EXPECT_NE(base, at(7 + (std::uint64_t{1} << 32), 10, RandomCase::kDraw, 0));
  EXPECT_NE(base, at(7, 11, RandomCase::kDraw, 0));
  EXPECT_NE(base, at(7, 10, RandomCase::kResidual, 0));
  EXPECT_NE(base, at(7, 10, RandomCase::kAccept, 0));
  EXPECT_NE(base, at(7, 10, RandomCase::kDraw, 1));
  // key 0, subsequence 0, index 0: the first Philox golden, 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  const auto first = RandomStream(0, 0, RandomCase::kDraw).bits(0);
  EXPECT_EQ(first[0], 0x6627e8d5e169c58dULL >> 11);
  EXPECT_EQ(first[1], 0xbc57ac4c9b00dbd8ULL >> 11);
}

TEST(Argmax, LowestIdOnTies) {
  EXPECT_EQ(argmax(std::vector<float>{1, 3, 3, 2}), 1);
  EXPECT_EQ(argmax(std::vector<float>{-0.0F, 0.0F}), 0);
  EXPECT_EQ(argmax(std::vector<float>{kOut, kOut, -5}), 2);
}

std::int32_t full_race(const std::vector<float>& row, const RandomStream& random) {
  std::int32_t best = -1;
  double value = 0;
  for (std::int32_t id = 0; id < std::ssize(row); ++id) {
    if (row[id] == kOut) continue;
    const double score = double{row[id]} + gumbel_noise(random.bits(static_cast<std::uint32_t>(id / 2))[id % 2]);
    if (best < 0 || score > value) best = id, value = score;
  }
  return best;
}

TEST(DrawGumbel, ShortcutEqualsFullRace) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 2000; ++trial) {
    std::normal_distribution<float> logits(0, 0.5F + static_cast<float>(trial % 7) * 2);
    std::vector<float> row(1 + random() % 257);
    for (float& l : row) l = random() % 5 == 0 ? kOut : logits(random);
    row[random() % row.size()] = 1;
    const RandomStream stream(random(), trial, RandomCase::kDraw);
    ASSERT_EQ(draw_gumbel(row, stream), full_race(row, stream)) << trial;
  }
}

TEST(DrawGumbel, IndependentOfPaddingAndOfEqualShifts) {
  std::mt19937 random(3);
  for (int trial = 0; trial < 500; ++trial) {
    std::vector<float> row(50);
    for (float& l : row) l = static_cast<float>(random() % 64) / 8;
    std::vector<float> padded = row;
    padded.resize(64 + random() % 64, kOut);
    const RandomStream stream(random(), trial, RandomCase::kDraw);
    EXPECT_EQ(draw_gumbel(row, stream), draw_gumbel(padded, stream));
    const double u = stream.uniform();
    EXPECT_EQ(draw_cdf(row, u), draw_cdf(padded, u));
  }
}

TEST(DrawCdf, PicksByRunningSum) {
  const std::vector<float> row{0, kOut, 0, 0, 0};
  EXPECT_EQ(draw_cdf(row, 0), 0);
  EXPECT_EQ(draw_cdf(row, 0.2499), 0);
  EXPECT_EQ(draw_cdf(row, 0.25), 2);
  EXPECT_EQ(draw_cdf(row, 0.5), 3);
  EXPECT_EQ(draw_cdf(row, 1 - 0x1p-53), 4);
}

TEST(ExponentialRace, GoldenTokens) {
  const numeric::testing::GoldenFile file("head_sampler.safetensors");
  const auto logits = file.read<float>("filters/logits");
  const auto noise = file.read<double>("exponential_race/noise");
  const auto tokens = file.read<std::int64_t>("exponential_race/token");
  const auto greedy = file.read<std::int64_t>("exponential_race/greedy");
  const std::size_t vocab = logits.size() / tokens.size();
  for (std::size_t r = 0; r < tokens.size(); ++r) {
    const std::span row = std::span(logits).subspan(r * vocab, vocab);
    EXPECT_EQ(argmax(row), greedy[r]);
    // argmax p / e = argmax ln p - ln e: the race of draw_gumbel with g = -ln e.
    std::vector<double> scores(vocab);
    for (std::size_t i = 0; i < vocab; ++i) scores[i] = double{row[i]} - natural_log(noise[r * vocab + i]);
    EXPECT_EQ(std::max_element(scores.begin(), scores.end()) - scores.begin(), tokens[r]) << r;
  }
}

struct ChiSquareCase {
  Draw draw;
  int draws;
};

// Twelve ids of probability 2^-1 ... 2^-11, 2^-11 with one removed id between them; 11 degrees of freedom.
void chi_square(const ChiSquareCase& c) {
  std::vector<float> row;
  std::vector<double> probability;
  for (int i = 0; i < 12; ++i) {
    if (i == 5) row.push_back(kOut), probability.push_back(0);
    const int power = std::min(i + 1, 11);
    row.push_back(static_cast<float>(-power * std::log(2.0)));
    probability.push_back(std::ldexp(1.0, -power));
  }
  std::vector<int> count(row.size());
  for (int n = 0; n < c.draws; ++n) {
    const RandomStream stream(12345, n, RandomCase::kDraw);
    ++count[c.draw == Draw::kGumbel ? draw_gumbel(row, stream) : draw_cdf(row, stream.uniform())];
  }
  double chi = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (probability[i] == 0) {
      EXPECT_EQ(count[i], 0);
      continue;
    }
    const double expected = probability[i] * c.draws;
    chi += (count[i] - expected) * (count[i] - expected) / expected;
  }
  EXPECT_LT(chi, 31.26);  // 99.9 % point
  EXPECT_GT(chi, 0.5);    // 10^-5 point: counts too good to be random fail as well
}

TEST(DrawDistribution, ChiSquareGumbel) { chi_square({Draw::kGumbel, 100'000}); }
TEST(DrawDistribution, ChiSquareCdf) { chi_square({Draw::kCdf, 100'000}); }
TEST(DrawDistribution, DISABLED_NightlyChiSquareGumbel) { chi_square({Draw::kGumbel, 1'000'000}); }
TEST(DrawDistribution, DISABLED_NightlyChiSquareCdf) { chi_square({Draw::kCdf, 1'000'000}); }

// 4,000 ids of probability 1e-7 beside one of 0.9996: 10^5 draws hit about 40 of them.
TEST(DrawDistribution, RareTokensAreReachable) {
  std::vector<float> row(4001, static_cast<float>(std::log(1e-7 / 0.9996)));
  row[0] = 0;
  for (const Draw draw : {Draw::kGumbel, Draw::kCdf}) {
    int rare = 0;
    for (int n = 0; n < 100'000; ++n) {
      const RandomStream stream(99, n, RandomCase::kDraw);
      // For cdf, only draws that could end in the rare part are run: the first id ends at u = 0.9996.
      if (draw == Draw::kCdf && stream.uniform() < 0.999) continue;
      if (draw == Draw::kGumbel && n >= 20'000) break;
      rare += (draw == Draw::kGumbel ? draw_gumbel(row, stream) : draw_cdf(row, stream.uniform())) != 0;
    }
    const int expected = draw == Draw::kGumbel ? 8 : 40;
    EXPECT_GT(rare, expected / 4);
    EXPECT_LT(rare, expected * 3);
  }
}

}  // namespace
}  // namespace deepinfer::engine
