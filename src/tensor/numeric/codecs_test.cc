// Exhaustive tests of the scalar codecs against the golden tables and against nearest-value search.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "tensor/bf16.h"
#include "tensor/numeric/ceil_log2.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/golden_file.h"

namespace deepinfer::numeric {
namespace {

using testing::GoldenFile;

const GoldenFile& tables() {
  static const GoldenFile file("tables.safetensors");
  return file;
}

/// Any NaN equals any NaN; everything else by bits.
bool same(float a, float b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

BF16 bf16_of(std::uint32_t bits) { return {static_cast<std::uint16_t>(bits)}; }

TEST(E4M3Fn, DecodesEveryCode) {
  const auto values = tables().read<float>("e4m3_decode/values");
  for (int code = 0; code < 256; ++code) EXPECT_TRUE(same(decode_e4m3fn(code), values[code])) << code;
  EXPECT_EQ(decode_e4m3fn(0x7E), kE4M3FnMax);
}

TEST(E4M3Fn, EncodesEveryBf16) {
  const auto codes = tables().read<std::uint8_t>("bf16_to_e4m3/codes");
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = to_float(bf16_of(bits));
    if (std::isnan(value)) {
      EXPECT_TRUE(is_nan_e4m3fn(encode_e4m3fn(value)));
    } else {
      EXPECT_EQ(encode_e4m3fn(value), codes[bits]) << std::hex << bits;
    }
  }
}

/// Nearest of the finite codes 0..last by value, ties to the even code: independent of the bit tricks.
int nearest_code(std::span<const float> values, int last, double magnitude) {
  int best = 0;
  for (int code = 1; code <= last; ++code) {
    const double d = std::abs(values[code] - magnitude);
    const double d_best = std::abs(values[best] - magnitude);
    if (d < d_best || (d == d_best && code % 2 == 0)) best = code;
  }
  return best;
}

TEST(E4M3, DecodesLikeE4M3FnBelowExponentField15) {
  for (int code = 0; code < 256; ++code) {
    if (is_outside_e4m3(code)) {
      EXPECT_FALSE(std::isfinite(decode_e4m3(code))) << code;
      EXPECT_EQ(std::isinf(decode_e4m3(code)), (code & 7) == 0) << code;
      EXPECT_EQ(std::signbit(decode_e4m3(code)), code >= 128) << code;
    } else {
      EXPECT_TRUE(same(decode_e4m3(code), decode_e4m3fn(code))) << code;
    }
  }
  EXPECT_EQ(decode_e4m3(0x77), kIeeeE4M3Max);
}

TEST(E4M3, EncodesToTheNearestFiniteValue) {
  for (std::uint32_t bits = 0; bits < 65536; bits += 1) {
    const float value = to_float(bf16_of(bits));
    if (std::isnan(value)) continue;
    const int want = nearest_code(kE4M3Values, 0x77, std::min<double>(std::abs(value), 240.0)) | (bits >> 15) << 7;
    ASSERT_EQ(encode_e4m3(value), want) << std::hex << bits;
  }
}

TEST(E4M3, HalvesEveryCode) {
  const auto halved = tables().read<std::uint8_t>("e4m3_halved/halved");
  const auto exact = tables().read<std::uint8_t>("e4m3_halved/exact");
  const auto rescale = tables().read<std::uint8_t>("e4m3_halved/needs_rescale");
  int exact_count = 0;
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(halve_e4m3(code), halved[code]) << code;
    EXPECT_EQ(halves_exactly(code), exact[code] != 0) << code;
    EXPECT_EQ(needs_rescale(code), rescale[code] != 0) << code;
    exact_count += halves_exactly(code);
    if (is_nan_e4m3fn(code)) continue;
    EXPECT_FALSE(is_outside_e4m3(halve_e4m3(code)));
    EXPECT_LE(std::abs(decode_e4m3(halve_e4m3(code)) * 2 - decode_e4m3fn(code)), halves_exactly(code) ? 0 : 0x1p-9F);
  }
  EXPECT_EQ(exact_count, 238);
}

TEST(E2M1, DecodesEveryCode) {
  const auto values = tables().read<float>("e2m1_decode/values");
  for (int code = 0; code < 16; ++code) {
    EXPECT_TRUE(same(decode_e2m1(code), values[code])) << code;
    EXPECT_EQ(kE2M1Doubled[code], 2 * values[code]);
    EXPECT_TRUE(same(decode_e4m3(kE2M1AsE4M3[code]), values[code])) << code;
  }
  const std::uint8_t packed[2] = {0x21, 0xF7};
  EXPECT_EQ(decode_packed_e2m1(packed, 0), 0.5F);
  EXPECT_EQ(decode_packed_e2m1(packed, 3), -6.0F);
}

TEST(E2M1, EncodesEveryBf16) {
  const auto codes = tables().read<std::uint8_t>("bf16_to_e2m1/codes");
  for (std::uint32_t bits = 0; bits < 65536; ++bits) {
    const float value = to_float(bf16_of(bits));
    if (!std::isnan(value)) {
      EXPECT_EQ(encode_e2m1(value), codes[bits]) << std::hex << bits;
    }
  }
}

TEST(E8M0, DecodesEveryCodeAndBack) {
  const auto values = tables().read<float>("e8m0_decode/values");
  for (int code = 0; code < 256; ++code) {
    EXPECT_TRUE(same(decode_e8m0(code), values[code])) << code;
    if (code == kE8M0Nan) continue;
    EXPECT_EQ(encode_e8m0(code - 127), code);
    EXPECT_TRUE(same(exp2i(code - 127), values[code])) << code;
  }
  EXPECT_EQ(exp2i(-149), 0x1p-149F);
  EXPECT_EQ(exp2i(-150), 0.0F);
  EXPECT_TRUE(std::isinf(exp2i(128)));
}

TEST(CeilLog2, IsExactAroundEveryPowerOfTwo) {
  for (int e = -125; e <= 127; ++e) {
    const float power = std::ldexp(1.0F, e);
    EXPECT_EQ(ceil_log2(power), e);
    EXPECT_EQ(ceil_log2(std::nextafter(power, 0.0F)), e);
    EXPECT_EQ(ceil_log2(std::nextafter(power, 3.4e38F)), e + 1);
  }
}

}  // namespace
}  // namespace deepinfer::numeric
