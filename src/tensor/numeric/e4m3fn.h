// e4m3fn (OCP): 1 sign, 4 exponent (bias 7), 3 mantissa bits; largest 448, NaN 0x7F/0xFF only, no infinities.
// Source: numerics.md 1, 2.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/numeric/range.h"

namespace deepinfer::numeric {

namespace detail {
/// Value of a code read as sign, 4 exponent bits with bias 7, 3 mantissa bits: what both e4m3 variants share.
constexpr float e4m3_plain_value(int code) {
  const int exponent = (code >> 3) & 15;
  const int mantissa = code & 7;
  const float magnitude = exponent == 0 ? static_cast<float>(mantissa) * 0x1p-9F
                                        : std::bit_cast<float>(static_cast<std::uint32_t>(exponent + 120) << 23) *
                                              (1.0F + static_cast<float>(mantissa) * 0.125F);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

constexpr std::array<float, 256> make_e4m3fn_values() {
  std::array<float, 256> values{};
  for (int code = 0; code < 256; ++code) {
    values[static_cast<std::size_t>(code)] =
        (code & 0x7F) == 0x7F ? std::numeric_limits<float>::quiet_NaN() : e4m3_plain_value(code);
  }
  return values;
}

/// Rounds |value| <= 448 to the e4m3 grid, subnormals included, ties to even. Not for NaN.
inline std::uint8_t e4m3_round(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  const std::uint32_t sign = (bits >> 24) & 0x80U;
  if (magnitude < 0x3C800000U) {  // below 2^-6: 2^14 has ulp 2^-9, so the addition rounds to the subnormal grid
    const float shifted = std::bit_cast<float>(magnitude) + 0x1p14F;
    return static_cast<std::uint8_t>(sign | (std::bit_cast<std::uint32_t>(shifted) - 0x46800000U));
  }
  const std::uint32_t rounded = magnitude + 0x7FFFFU + ((magnitude >> 20) & 1U);
  return static_cast<std::uint8_t>(sign | ((rounded >> 20) - (120U << 3)));
}
}  // namespace detail

inline constexpr std::array<float, 256> kE4M3FnValues = detail::make_e4m3fn_values();

constexpr float decode_e4m3fn(std::uint8_t code) { return kE4M3FnValues[code]; }
constexpr bool is_nan_e4m3fn(std::uint8_t code) { return (code & 0x7F) == 0x7F; }

/// Clamps to +-448, then rounds to nearest even. NaN gives a NaN code, so that the fault stays visible.
inline std::uint8_t encode_e4m3fn(float value) {
  if (std::isnan(value)) return 0x7F;
  return detail::e4m3_round(std::fmin(std::fmax(value, -kE4M3FnMax), kE4M3FnMax));
}

}  // namespace deepinfer::numeric
