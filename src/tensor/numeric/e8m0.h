// ue8m0 block scales: byte b is 2^(b - 127); 0 is 2^-127 (an fp32 subnormal), 255 is NaN. Source: numerics.md 1.
#pragma once

#include <bit>
#include <cstdint>

namespace deepinfer::numeric {

inline constexpr std::uint8_t kE8M0Nan = 0xFF;
inline constexpr int kE8M0Bias = 127;

constexpr float decode_e8m0(std::uint8_t code) {
  if (code == 0) return 0x1p-127F;
  if (code == kE8M0Nan) return std::bit_cast<float>(0x7FC00000U);
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 23);
}
/// Byte of 2^exponent, -127 <= exponent <= 127.
constexpr std::uint8_t encode_e8m0(int exponent) { return static_cast<std::uint8_t>(exponent + kE8M0Bias); }

/// 2^exponent as fp32 for any exponent, subnormals and infinity included: sums of scale exponents.
constexpr float exp2i(int exponent) {
  if (exponent >= -126) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(exponent > 127 ? 255 : exponent + 127) << 23);
  }
  return exponent < -149 ? 0.0F : std::bit_cast<float>(1U << (exponent + 149));
}

}  // namespace deepinfer::numeric
