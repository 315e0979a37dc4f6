// exp32, V16, the HC chunk rule and the rotary tables.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "tensor/numeric/exp32.h"
#include "tensor/numeric/rope_table.h"
#include "tensor/numeric/transcendental.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::numeric {
namespace {

std::uint32_t bits_of(float value) { return std::bit_cast<std::uint32_t>(value); }

TEST(Exp32, PrintedValues) {
  const std::pair<float, std::uint32_t> cases[] = {{0.0F, 0x3F800000},   {-0.5F, 0x3F1B4598},  {-1.0F, 0x3EBC5AB2},
                                                   {-2.5F, 0x3DA81C2E},  {-10.0F, 0x383E6BCE}, {-50.0F, 0x1B692BEB},
                                                   {-86.9F, 0x00C60F89}, {-1e30F, 0x00000000}, {1.0F, 0x402DF854},
                                                   {3.25F, 0x41CE529E},  {80.0F, 0x792ABBCE},  {89.0F, 0x7F800000}};
  for (const auto& [x, want] : cases) EXPECT_EQ(bits_of(exp32(x)), want) << x;
  EXPECT_TRUE(std::isnan(exp32(std::numeric_limits<float>::quiet_NaN())));
  EXPECT_GT(exp32(-87.0F), 0.0F);
  EXPECT_TRUE(std::isfinite(exp32(88.0F)));
}

TEST(Exp32, StaysWithinOnePointZeroTwoUlp) {
  double worst = 0;
  for (float x = -87.0F; x <= 88.0F; x += 0.00037F) {
    const double truth = std::exp(static_cast<double>(x));
    int exponent = 0;
    std::frexp(truth, &exponent);
    worst = std::max(worst, std::abs(exp32(x) - truth) / std::ldexp(1.0, std::max(exponent - 24, -149)));
  }
  EXPECT_LE(worst, 1.02);
  EXPECT_GT(worst, 0.5);
}

TEST(Transcendental, AreRoundedOnceFromDouble) {
  EXPECT_EQ(sigmoid_f64(0.0F), 0.5F);
  EXPECT_EQ(sigmoid_f64(-200.0F), static_cast<float>(1.0 / (1.0 + std::exp(200.0))));
  EXPECT_EQ(softplus_f64(20.5F), 20.5F);
  EXPECT_EQ(softplus_f64(20.0F), static_cast<float>(std::log1p(std::exp(20.0))));
  EXPECT_EQ(softplus_f64(0.0F), 0.693147180559945309F);
  EXPECT_EQ(sqrt_f64(2.0F), 1.41421356237309505F);
}

/// Chains as listed in numerics.md 5.2, from the definition "columns of chain (e, i)".
std::vector<std::int64_t> listed_columns(ColumnMap map, int e, int i, std::int64_t n) {
  std::vector<std::int64_t> out;
  for (std::int64_t b = 0; b * v16_block(map) < n; ++b) {
    switch (map) {
      case ColumnMap::kE4M3:
        out.push_back(32 * b + 4 * i + e);
        out.push_back(32 * b + 4 * i + e + 2);
        break;
      case ColumnMap::kBf16: out.push_back(16 * b + 2 * i + e); break;
      case ColumnMap::kF32: out.push_back(16 * b + 8 * e + i); break;
    }
  }
  return out;
}

template <ColumnMap kMap>
void expect_listed_order(std::int64_t n) {
  std::mt19937 random(static_cast<unsigned>(n));
  std::normal_distribution<float> normal;
  std::vector<float> x(static_cast<std::size_t>(n + 32));  // zero padded
  std::vector<float> w(x.size());
  for (std::int64_t k = 0; k < n; ++k) {
    x[k] = normal(random);
    w[k] = normal(random);
  }
  float chains[16];
  for (int c = 0; c < 16; ++c) {
    chains[c] = 0.0F;
    for (const auto k : listed_columns(kMap, c / 8, c % 8, n)) chains[c] = std::fma(w[k], x[k], chains[c]);
  }
  float t[8];
  float u[4];
  for (int i = 0; i < 8; ++i) t[i] = chains[i] + chains[i + 8];
  for (int i = 0; i < 4; ++i) u[i] = t[i] + t[i + 4];
  const float v0 = u[0] + u[2];
  const float v1 = u[1] + u[3];
  EXPECT_EQ(bits_of(v16_dot<kMap>(n, x.data(), w.data())), bits_of(v0 + v1)) << n;
}

TEST(V16, FollowsTheListedOrder) {
  for (const std::int64_t n : {1, 15, 16, 17, 31, 32, 33, 160, 512, 1000}) {
    expect_listed_order<ColumnMap::kE4M3>(n);
    expect_listed_order<ColumnMap::kBf16>(n);
    expect_listed_order<ColumnMap::kF32>(n);
  }
}

TEST(V16, HcChunksAreStreamMajorAndAddedInOrder) {
  const std::int64_t hidden = 160;  // chunks of 128 and 32 columns
  const std::int64_t streams = 4;
  std::vector<float> x(hidden * streams);
  std::vector<float> w(x.size());
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (float& value : x) value = normal(random);
  for (float& value : w) value = normal(random);
  float want = 0.0F;
  for (std::int64_t c = 0; c < 2; ++c) {
    std::vector<float> cx, cw;
    for (std::int64_t j = 0; j < streams; ++j) {
      for (std::int64_t d = 128 * c; d < std::min(hidden, 128 * (c + 1)); ++d) {
        cx.push_back(x[j * hidden + d]);
        cw.push_back(w[j * hidden + d]);
      }
    }
    want += v16_dot<ColumnMap::kF32>(static_cast<std::int64_t>(cx.size()), cx.data(), cw.data());
  }
  const float got = hc_dot(
      hidden, streams, [&](std::int64_t k) { return x[k]; }, [&](std::int64_t k) { return w[k]; });
  EXPECT_EQ(bits_of(got), bits_of(want));
  EXPECT_EQ(hc_num_chunks(5120), 40);
}

const RopeSpec kMain{};
const RopeSpec kCompressed{.dim = 64, .base = 160000.0, .factor = 16.0, .original_length = 65536};

TEST(RopeTable, PrintedCosinesAndSines) {
  struct Case {
    const RopeSpec* spec;
    std::int64_t position;
    std::size_t i;
    std::uint32_t cos, sin;
  };
  const Case cases[] = {{&kMain, 1, 1, 0x3F3B54B0, 0x3F2E7ACE},
                        {&kMain, 1023, 1, 0x3F544468, 0x3F0F1A83},
                        {&kMain, 1023, 16, 0xBF316545, 0xBF38926C},
                        {&kMain, 1048575, 0, 0x3F49BD23, 0xBF1D9959},
                        {&kMain, 1048575, 1, 0x3DBB744F, 0xBF7EECE6},
                        {&kMain, 1048575, 31, 0xBCEC5703, 0x3F7FE4B8},
                        {&kCompressed, 1, 1, 0x3F45D205, 0x3F227D83},
                        {&kCompressed, 1023, 1, 0x3F786085, 0xBE780707},
                        {&kCompressed, 1023, 16, 0xBF2DECD6, 0x3F3BD887},
                        {&kCompressed, 1048575, 1, 0x3F547C5D, 0x3F0EC760},
                        {&kCompressed, 1048575, 16, 0x3F4E4C20, 0x3F17953D},
                        {&kCompressed, 1048575, 31, 0x3F53E9CC, 0x3F0FA08F}};
  for (const Case& c : cases) {
    const std::vector<float> frequencies = rope_frequencies(*c.spec);
    ASSERT_EQ(frequencies.size(), 32U);
    const CosSin value = rope_cos_sin(c.position, frequencies[c.i]);
    EXPECT_EQ(bits_of(value.cos), c.cos) << c.position << " " << c.i;
    EXPECT_EQ(bits_of(value.sin), c.sin) << c.position << " " << c.i;
    float cos[32], sin[32];
    rope_row(frequencies, c.position, cos, sin);
    EXPECT_EQ(cos[c.i], value.cos);
    EXPECT_EQ(sin[c.i], value.sin);
  }
}

/// The general form reproduces the pinned constants: asked for with specs that differ too little to change a bit.
TEST(RopeTable, GeneralFormMatchesThePinnedTables) {
  RopeSpec general = kMain;
  general.base = std::nextafter(kMain.base, 1e9);
  EXPECT_EQ(rope_frequencies(general), rope_frequencies(kMain));
  general = kCompressed;
  general.beta_fast = 32.0 + 1e-9;  // same correction range
  EXPECT_EQ(rope_frequencies(general), rope_frequencies(kCompressed));
}

TEST(RopeTable, YarnBlendsOtherSizes) {
  const RopeSpec spec{.dim = 16, .base = 160000.0, .factor = 16.0, .original_length = 4096};
  RopeSpec plain = spec;
  plain.factor = 1.0;
  const auto blended = rope_frequencies(spec);
  const auto base = rope_frequencies(plain);
  for (std::size_t i = 0; i < 8; ++i) {  // correction range low 2, high 5
    if (i <= 2) {
      EXPECT_EQ(blended[i], base[i]) << i;
    } else if (i >= 5) {
      EXPECT_EQ(blended[i], base[i] / 16.0F) << i;
    }
  }
  EXPECT_LT(blended[3], base[3]);
  EXPECT_GT(blended[3], base[3] / 16.0F);
}

}  // namespace
}  // namespace deepinfer::numeric
