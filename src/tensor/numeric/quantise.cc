#include "tensor/numeric/quantise.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#include "base/check.h"
#include "tensor/numeric/ceil_log2.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/range.h"

namespace deepinfer::numeric {
namespace {

constexpr float kAct32Floor = 1e-4F;
constexpr float kSixth = 0x1.555556p-3F;  // fp32(1/6)
constexpr float kFp4Floor32 = kE2M1Max * 0x1p-126F;
constexpr float kFp4Floor16 = kE2M1Max * 0x1p-9F;  // 2^-9 is the smallest positive e4m3fn scale
constexpr std::uint8_t kE4M3Nan = 0x7F;

float value_of(BF16 x) { return to_float(x); }
float value_of(float x) { return x; }

/// Largest magnitude; magnitudes compare like their bits, and NaN bits are above all others, so NaN wins.
template <typename T>
float max_magnitude(const T* x, std::int64_t n) {
  std::uint32_t largest = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    largest = std::max(largest, std::bit_cast<std::uint32_t>(value_of(x[i])) & 0x7FFFFFFFU);
  }
  return std::bit_cast<float>(largest);
}

float clamp_to(float value, float limit) { return std::min(std::max(value, -limit), limit); }

void check_blocks(std::size_t n, std::int64_t block) {
  DI_CHECK(static_cast<std::int64_t>(n) % block == 0, "{} values in blocks of {}", n, block);
}

template <typename T>
void act_quant_block(const T* x, float max, std::uint8_t* codes, std::uint8_t* scale) {
  *scale = act32_scale(max_magnitude(x, kAct32Block), max);
  if (*scale == kE8M0Nan) {
    std::fill_n(codes, kAct32Block, kE4M3Nan);
    return;
  }
  const float inverse = exp2i(kE8M0Bias - *scale);  // a power of two: the product is the quotient
  for (std::int64_t i = 0; i < kAct32Block; ++i) {
    codes[i] = detail::e4m3_round(clamp_to(value_of(x[i]) * inverse, max));
  }
}

template <typename T>
void act_quant_all(std::span<const T> x, float max, std::uint8_t* codes, std::uint8_t* scales) {
  check_blocks(x.size(), kAct32Block);
  const auto blocks = static_cast<std::int64_t>(x.size()) / kAct32Block;
  for (std::int64_t b = 0; b < blocks; ++b) {
    act_quant_block(x.data() + b * kAct32Block, max, codes + b * kAct32Block, scales + b);
  }
}

/// Packs the codes of n values over scale s.
void pack_e2m1(const BF16* x, std::int64_t n, float s, std::uint8_t* packed) {
  for (std::int64_t i = 0; i < n; i += 2) {
    const int low = encode_e2m1(clamp_to(to_float(x[i]) / s, kE2M1Max));
    const int high = encode_e2m1(clamp_to(to_float(x[i + 1]) / s, kE2M1Max));
    packed[i / 2] = static_cast<std::uint8_t>(low | (high << 4));
  }
}

void store(float value, float* out) { *out = value; }
void store(float value, BF16* out) { *out = to_bf16(value); }

template <typename T>
void decode_act(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t n, T* out) {
  for (std::int64_t b = 0; b < n / kAct32Block; ++b) {
    const float s = decode_e8m0(scales[b]);
    for (std::int64_t i = b * kAct32Block; i < (b + 1) * kAct32Block; ++i) store(decode_e4m3fn(codes[i]) * s, out + i);
  }
}

/// Both packed formats: `scale` decodes a scale byte.
template <typename T, typename Scale>
void decode_packed(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, std::int64_t block,
                   Scale scale, T* out) {
  for (std::int64_t b = 0; b < n / block; ++b) {
    const float s = scale(scales[b]);
    for (std::int64_t i = b * block; i < (b + 1) * block; i += 2) {
      const int pair = packed[i / 2];
      store(decode_e2m1(pair) * s, out + i);
      store(decode_e2m1(pair >> 4) * s, out + i + 1);
    }
  }
}

}  // namespace

std::uint8_t act32_scale(float amax, float max) {
  if (!std::isfinite(amax)) return kE8M0Nan;
  const float inverse = 1.0F / max;  // 448: 0x3b124925
  return encode_e8m0(ceil_log2(std::max(amax, kAct32Floor) * inverse));
}

std::uint8_t fp4_32_scale(float amax) {
  if (!std::isfinite(amax)) return kE8M0Nan;
  return encode_e8m0(ceil_log2(std::max(amax, kFp4Floor32) * kSixth));
}

std::uint8_t fp4_16_scale(float amax) {
  if (std::isnan(amax)) return kE4M3Nan;
  return encode_e4m3fn(std::max(amax, kFp4Floor16) / kE2M1Max);
}

void act_quant32(std::span<const BF16> x, float max, std::uint8_t* codes, std::uint8_t* scales) {
  act_quant_all(x, max, codes, scales);
}

void act_quant32(std::span<const float> x, float max, std::uint8_t* codes, std::uint8_t* scales) {
  act_quant_all(x, max, codes, scales);
}

void act_requant32(std::span<BF16> x, float max) {
  check_blocks(x.size(), kAct32Block);
  std::uint8_t codes[kAct32Block];
  std::uint8_t scale = 0;
  for (std::size_t b = 0; b < x.size(); b += kAct32Block) {
    act_quant_block(x.data() + b, max, codes, &scale);
    decode_act(codes, &scale, kAct32Block, x.data() + b);
  }
}

void fp4_quant32(std::span<const BF16> x, std::uint8_t* packed, std::uint8_t* scales) {
  check_blocks(x.size(), kFp4Block32);
  for (std::int64_t b = 0; b < static_cast<std::int64_t>(x.size()) / kFp4Block32; ++b) {
    const BF16* block = x.data() + b * kFp4Block32;
    scales[b] = fp4_32_scale(max_magnitude(block, kFp4Block32));
    pack_e2m1(block, kFp4Block32, decode_e8m0(scales[b]), packed + b * kFp4Block32 / 2);
  }
}

void fp4_quant16(std::span<const BF16> x, std::uint8_t* packed, std::uint8_t* scales) {
  check_blocks(x.size(), kFp4Block16);
  for (std::int64_t b = 0; b < static_cast<std::int64_t>(x.size()) / kFp4Block16; ++b) {
    const BF16* block = x.data() + b * kFp4Block16;
    scales[b] = fp4_16_scale(max_magnitude(block, kFp4Block16));
    pack_e2m1(block, kFp4Block16, decode_e4m3fn(scales[b]), packed + b * kFp4Block16 / 2);
  }
}

void decode_act32(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t n, float* out) {
  decode_act(codes, scales, n, out);
}
void decode_act32(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t n, BF16* out) {
  decode_act(codes, scales, n, out);
}
void decode_fp4_32(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, float* out) {
  decode_packed(packed, scales, n, kFp4Block32, decode_e8m0, out);
}
void decode_fp4_32(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, BF16* out) {
  decode_packed(packed, scales, n, kFp4Block32, decode_e8m0, out);
}
void decode_fp4_16(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, float* out) {
  decode_packed(packed, scales, n, kFp4Block16, decode_e4m3fn, out);
}
void decode_fp4_16(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, BF16* out) {
  decode_packed(packed, scales, n, kFp4Block16, decode_e4m3fn, out);
}

}  // namespace deepinfer::numeric
