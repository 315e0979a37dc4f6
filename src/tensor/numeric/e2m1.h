// e2m1: 1 sign, 2 exponent (bias 1), 1 mantissa bit; +-{0, .5, 1, 1.5, 2, 3, 4, 6}. Two codes a byte, the low nibble
// holds the even index. Source: numerics.md 1, 2, 4.
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace deepinfer::numeric {

inline constexpr std::array<float, 16> kE2M1Values = {0.0F,  0.5F,  1.0F,  1.5F,  2.0F,  3.0F,  4.0F,  6.0F,
                                                      -0.0F, -0.5F, -1.0F, -1.5F, -2.0F, -3.0F, -4.0F, -6.0F};
/// Twice the value: integers, what the exact integer dots use.
inline constexpr std::array<std::int8_t, 16> kE2M1Doubled = {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12};
/// The same value as an e4m3 / e4m3fn byte (lossless).
inline constexpr std::array<std::uint8_t, 16> kE2M1AsE4M3 = {0x00, 0x30, 0x38, 0x3C, 0x40, 0x44, 0x48, 0x4C,
                                                             0x80, 0xB0, 0xB8, 0xBC, 0xC0, 0xC4, 0xC8, 0xCC};

constexpr float decode_e2m1(int code) { return kE2M1Values[static_cast<std::size_t>(code & 15)]; }
/// Code of element i of a packed row.
constexpr int packed_e2m1(const std::uint8_t* packed, std::int64_t i) { return (packed[i / 2] >> (4 * (i & 1))) & 15; }
constexpr float decode_packed_e2m1(const std::uint8_t* packed, std::int64_t i) {
  return decode_e2m1(packed_e2m1(packed, i));
}

/// Nearest value, ties to the even code, |value| beyond 6 gives 6; the sign of a zero result is kept.
/// NaN has no code and gives 0: quantisers mark NaN in the block's scale.
constexpr std::uint8_t encode_e2m1(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const float v = std::bit_cast<float>(bits & 0x7FFFFFFFU);
  const int code = (v > 0.25F) + (v >= 0.75F) + (v > 1.25F) + (v >= 1.75F) + (v > 2.5F) + (v >= 3.5F) + (v > 5.0F);
  return static_cast<std::uint8_t>(code | static_cast<int>((bits >> 28) & 8U));
}

}  // namespace deepinfer::numeric
