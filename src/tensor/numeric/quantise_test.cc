// Quantisers: golden files, the printed examples, and every bf16 value as a block maximum and as an element.
#include "tensor/numeric/quantise.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "base/check.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/golden_file.h"
#include "tensor/numeric/range.h"

namespace deepinfer::numeric {
namespace {

using ::testing::ElementsAreArray;
using testing::GoldenFile;

const GoldenFile& quantisers() {
  static const GoldenFile file("quantisers.safetensors");
  return file;
}
const GoldenFile& tables() {
  static const GoldenFile file("tables.safetensors");
  return file;
}

/// Hex words of a text: "c0b8 c0ac".
template <typename T>
std::vector<T> hex(const std::string& text) {
  std::vector<T> out;
  std::istringstream in(text);
  std::string word;
  while (in >> word) out.push_back(static_cast<T>(std::stoul(word, nullptr, 16)));
  return out;
}
std::vector<BF16> bf16s(const std::string& text) {
  std::vector<BF16> out;
  for (const auto bits : hex<std::uint16_t>(text)) out.push_back({bits});
  return out;
}

struct Quantised {
  std::vector<std::uint8_t> codes;
  std::vector<std::uint8_t> scales;
};
Quantised act(std::span<const BF16> x, float max) {
  Quantised q{std::vector<std::uint8_t>(x.size()), std::vector<std::uint8_t>(x.size() / 32)};
  act_quant32(x, max, q.codes.data(), q.scales.data());
  return q;
}
Quantised fp4_32(std::span<const BF16> x) {
  Quantised q{std::vector<std::uint8_t>(x.size() / 2), std::vector<std::uint8_t>(x.size() / 32)};
  fp4_quant32(x, q.codes.data(), q.scales.data());
  return q;
}
Quantised fp4_16(std::span<const BF16> x) {
  Quantised q{std::vector<std::uint8_t>(x.size() / 2), std::vector<std::uint8_t>(x.size() / 16)};
  fp4_quant16(x, q.codes.data(), q.scales.data());
  return q;
}

const std::vector<BF16>& input_a() {
  static const auto x = bf16s(
      "c0b8 c0ac c0a0 c094 c088 c079 c061 c049 c032 c01a c002 bfd5 bfa6 bf6d bf0e be3d "
      "3e3d 3f0e 3f6d 3fa6 3fd5 4002 401a 4032 4049 4061 4079 4088 4094 40a0 40ac 40b8");
  return x;
}
const std::vector<BF16>& input_b() {
  static const auto x = bf16s(
      "3d00 bd18 3d35 bd57 3d80 bd98 3db5 bdd7 3e00 be18 3e35 be57 3e80 be98 3eb5 bed7 "
      "3f00 bf18 3f35 bf57 3f80 bf98 3fb5 bfd7 4000 c018 4035 c057 4080 c098 40b5 c0d7");
  return x;
}

TEST(Quantise, PrintedExampleA) {
  const Quantised q448 = act(input_a(), kE4M3FnMax);
  EXPECT_THAT(q448.scales, ElementsAreArray({121}));
  EXPECT_EQ(q448.codes, hex<std::uint8_t>("fc fb fa f9 f8 f8 f6 f5 f3 f2 f0 ed ea e7 e1 d4 "
                                          "54 61 67 6a 6d 70 72 73 75 76 78 78 79 7a 7b 7c"));
  const Quantised q224 = act(input_a(), kTrn2Range);
  EXPECT_THAT(q224.scales, ElementsAreArray({122}));
  EXPECT_EQ(q224.codes, hex<std::uint8_t>("f4 f3 f2 f1 f0 f0 ee ed eb ea e8 e5 e2 df d9 cc "
                                          "4c 59 5f 62 65 68 6a 6b 6d 6e 70 70 71 72 73 74"));
  const Quantised q4 = fp4_32(input_a());
  EXPECT_THAT(q4.scales, ElementsAreArray({127}));
  EXPECT_EQ(q4.codes, hex<std::uint8_t>("ff ee ee de cd bc ab 89 10 32 43 54 65 66 66 77"));
  const Quantised q16 = fp4_16(input_a());
  EXPECT_EQ(q16.scales, hex<std::uint8_t>("37 37"));
  EXPECT_EQ(q16.codes, hex<std::uint8_t>("ff ef ee de dd cc ab 89 10 32 44 55 65 66 76 77"));
}

TEST(Quantise, PrintedExampleB) {
  const Quantised q448 = act(input_b(), kE4M3FnMax);
  EXPECT_THAT(q448.scales, ElementsAreArray({121}));
  EXPECT_EQ(q448.codes, hex<std::uint8_t>("40 c2 43 c5 48 ca 4b cd 50 d2 53 d5 58 da 5b dd "
                                          "60 e2 63 e5 68 ea 6b ed 70 f2 73 f5 78 fa 7b fd"));
  const Quantised q224 = act(input_b(), kTrn2Range);
  EXPECT_THAT(q224.scales, ElementsAreArray({122}));
  for (std::size_t i = 0; i < 32; ++i) EXPECT_EQ(q224.codes[i], q448.codes[i] - 8);
  const Quantised q4 = fp4_32(input_b());
  EXPECT_THAT(q4.scales, ElementsAreArray({128}));
  EXPECT_EQ(q4.codes, hex<std::uint8_t>("80 80 80 80 80 80 80 80 90 91 91 a1 a2 b3 c4 d5"));
  const Quantised q16 = fp4_16(input_b());
  EXPECT_EQ(q16.scales, hex<std::uint8_t>("19 39"));
  EXPECT_EQ(q16.codes, hex<std::uint8_t>("91 91 a2 b3 c4 d5 e6 f7 91 91 a2 b3 c4 d5 e6 f7"));
}

TEST(Quantise, PrintedSingleElements) {
  struct Case {
    float value;
    int act_scale, act_code, fp4_scale, fp4_code, fp16_scale, fp16_code;
  };
  const Case cases[] = {
      {0.0F, 105, 0x00, 1, 0, 0x01, 0},     {0x1p-30F, 105, 0x02, 95, 6, 0x01, 0},
      {1e-4F, 105, 0x7D, 112, 5, 0x01, 0},  {1.0F, 119, 0x78, 125, 6, 0x23, 7},
      {6.0F, 121, 0x7C, 127, 7, 0x38, 7},   {6.03125F, 121, 0x7C, 128, 5, 0x38, 7},
      {448.0F, 127, 0x7E, 134, 6, 0x69, 7}, {450.0F, 128, 0x76, 134, 6, 0x69, 7},
  };
  for (const Case& c : cases) {
    std::vector<BF16> x(32);
    x[3] = to_bf16(c.value);
    const Quantised q = act(x, kE4M3FnMax);
    EXPECT_EQ(q.scales[0], c.act_scale) << c.value;
    EXPECT_EQ(q.codes[3], c.act_code) << c.value;
    EXPECT_EQ(q.codes[4], 0) << c.value;
    const Quantised q4 = fp4_32(x);
    EXPECT_EQ(q4.scales[0], c.fp4_scale) << c.value;
    EXPECT_EQ(q4.codes[1], c.fp4_code << 4) << c.value;
    const Quantised q16 = fp4_16(x);
    EXPECT_EQ(q16.scales[0], c.fp16_scale) << c.value;
    EXPECT_EQ(q16.codes[1], c.fp16_code << 4) << c.value;
    EXPECT_EQ(q16.scales[1], 0x01) << c.value;
  }
}

/// Golden case: codes, scales and decoded bf16 values.
template <typename Quantiser, typename Decoder>
void expect_golden(const std::string& name, const std::string& input, Quantiser quantise, Decoder decode) {
  const auto x = quantisers().read<BF16>(input);
  const Quantised q = quantise(x);
  EXPECT_EQ(q.codes, quantisers().read<std::uint8_t>(name + "/q")) << name;
  EXPECT_EQ(q.scales, quantisers().read<std::uint8_t>(name + "/scale")) << name;
  const auto want = quantisers().read<BF16>(name + "/dequant");
  std::vector<BF16> out(x.size());
  std::vector<float> out_f32(x.size());
  decode(q, static_cast<std::int64_t>(x.size()), out.data());
  decode(q, static_cast<std::int64_t>(x.size()), out_f32.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    ASSERT_EQ(out[i].bits, want[i].bits) << name << " element " << i;
    ASSERT_EQ(out_f32[i], to_float(want[i])) << name << " element " << i;  // exact in bf16
  }
}

constexpr auto kDecodeAct = [](const Quantised& q, std::int64_t n, auto* out) {
  decode_act32(q.codes.data(), q.scales.data(), n, out);
};
constexpr auto kDecode32 = [](const Quantised& q, std::int64_t n, auto* out) {
  decode_fp4_32(q.codes.data(), q.scales.data(), n, out);
};
constexpr auto kDecode16 = [](const Quantised& q, std::int64_t n, auto* out) {
  decode_fp4_16(q.codes.data(), q.scales.data(), n, out);
};

TEST(Quantise, GoldenFiles) {
  const auto act448 = [](std::span<const BF16> x) { return act(x, kE4M3FnMax); };
  const auto act224 = [](std::span<const BF16> x) { return act(x, kTrn2Range); };
  expect_golden("act_quant32", "act_quant32/x", act448, kDecodeAct);
  expect_golden("act_quant32_ieee224", "act_quant32/x", act224, kDecodeAct);
  expect_golden("fp4_quant32_e8m0", "act_quant32/x", fp4_32, kDecode32);
  expect_golden("fp4_quant16_e4m3", "act_quant32/x", fp4_16, kDecode16);
  expect_golden("fp4_quant16_scales", "fp4_quant16_scales/x", fp4_16, kDecode16);
}

TEST(Quantise, RequantiseWritesDecodedValues) {
  auto x = quantisers().read<BF16>("act_quant32/x");
  act_requant32(x, kE4M3FnMax);
  EXPECT_EQ(x, quantisers().read<BF16>("act_quant32/dequant"));
}

TEST(Quantise, ScaleOfEveryBf16BlockMaximum) {
  const auto scale8 = tables().read<std::uint8_t>("bf16_amax_to_scale8/codes");
  const auto scale8_ieee = tables().read<std::uint8_t>("bf16_amax_to_scale8_ieee/codes");
  const auto scale4 = tables().read<std::uint8_t>("bf16_amax_to_scale4/codes");
  const auto scale_e4m3 = tables().read<std::uint8_t>("bf16_amax_to_scale_e4m3/codes");
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    std::vector<BF16> x(32);
    x[bits % 16].bits = static_cast<std::uint16_t>(bits);
    const float value = to_float(x[bits % 16]);
    if (std::isnan(value)) continue;
    ASSERT_EQ(fp4_16(x).scales[0], scale_e4m3[bits]) << std::hex << bits;
    if (std::isinf(value)) continue;
    ASSERT_EQ(act(x, kE4M3FnMax).scales[0], scale8[bits]) << std::hex << bits;
    ASSERT_EQ(act(x, kTrn2Range).scales[0], scale8_ieee[bits]) << std::hex << bits;
    ASSERT_EQ(fp4_32(x).scales[0], scale4[bits]) << std::hex << bits;
  }
}

TEST(Quantise, MultiplyAndDivideGiveTheSameExponentForBf16) {
  for (std::uint32_t bits = 0; bits < 0x7F80; ++bits) {
    const double a = std::max(to_float(BF16{static_cast<std::uint16_t>(bits)}), 1e-4F);
    int exponent = 0;
    const double mantissa = std::frexp(a / 448.0, &exponent);
    ASSERT_EQ(act32_scale(static_cast<float>(a), kE4M3FnMax), exponent - (mantissa == 0.5 ? 1 : 0) + 127) << bits;
  }
}

/// numerics.md 4: codes with exponent field >= 2 move one binade down, every scale doubles.
TEST(Quantise, Range224IsOneBinadeBelow448) {
  const auto x = quantisers().read<BF16>("act_quant32/x");
  const Quantised a = act(x, kE4M3FnMax);
  const Quantised b = act(x, kTrn2Range);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if ((a.codes[i] & 0x7F) >= 0x10) {
      ASSERT_EQ(b.codes[i], a.codes[i] - 8) << i;
    }
  }
  for (std::size_t i = 0; i < a.scales.size(); ++i) ASSERT_EQ(b.scales[i], a.scales[i] + 1) << i;
}

TEST(Quantise, NonFiniteBlocksStayVisible) {
  for (const std::uint16_t bits : {0x7F80, 0xFF80, 0x7FC0, 0xFFC1}) {
    std::vector<BF16> x(64, to_bf16(1.0F));
    x[40].bits = bits;
    std::vector<float> out(64);
    const Quantised q = act(x, kE4M3FnMax);
    kDecodeAct(q, 64, out.data());
    EXPECT_EQ(out[0], 1.0F);
    EXPECT_TRUE(std::isnan(out[33])) << bits;
    const Quantised q4 = fp4_32(x);
    kDecode32(q4, 64, out.data());
    EXPECT_EQ(out[0], 1.0F);
    EXPECT_TRUE(std::isnan(out[33])) << bits;
    const bool nan = (bits & 0x7F) != 0;
    const Quantised q16 = fp4_16(x);
    kDecode16(q16, 64, out.data());
    EXPECT_EQ(std::isnan(out[33]), nan) << bits;  // infinity saturates in this format
  }
}

TEST(Quantise, PartialBlocksAreRefused) {
  std::vector<BF16> x(40);
  std::uint8_t codes[64];
  std::uint8_t scales[4];
  EXPECT_THROW(act_quant32(std::span<const BF16>(x), kE4M3FnMax, codes, scales), CheckFailure);
  EXPECT_THROW(fp4_quant16(x, codes, scales), CheckFailure);
}

TEST(Quantise, Fp32InputUsesTheUnroundedValues) {
  std::vector<float> x(32, 0.0F);
  x[0] = 1.0F;
  x[1] = std::nextafter(1.0625F, 2.0F);  // just above the tie between 1 and 1.125; its bf16 form lies on the tie
  std::vector<BF16> rounded;
  for (const float value : x) rounded.push_back(to_bf16(value));
  std::uint8_t codes[32];
  std::uint8_t scale = 0;
  act_quant32(std::span<const float>(x), kE4M3FnMax, codes, &scale);
  EXPECT_EQ(codes[1], codes[0] + 1);
  EXPECT_EQ(act(rounded, kE4M3FnMax).codes[1], codes[0]);
}

}  // namespace
}  // namespace deepinfer::numeric
