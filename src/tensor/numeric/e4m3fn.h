// e4m3fn (OCP): 1 sign, 4 exponent (bias 7), 3 mantissa bits; largest 448, NaN 0x7F/0xFF only, no infinities.
// Source: numerics.md 1, 2.
#pragma once

#include <algorithm>
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

/// Rounds |value| <= 448 to the e4m3 grid, subnormals included, ties to even. Not for NaN. Without branches, so that
/// loops over it are vectorised: adding 2^(e + 20), whose ulp is the grid step 2^(e - 3), rounds to m steps, and the
/// code is m above the code of the exponent (e = -6 serves the subnormals too).
inline std::uint8_t e4m3_round(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto magnitude = static_cast<std::int32_t>(bits & 0x7FFFFFFFU);
  const std::int32_t exponent = std::max(magnitude & 0x7F800000, 0x3C800000);
  const std::int32_t magic = exponent + (20 << 23);
  const float sum = std::bit_cast<float>(magnitude) + std::bit_cast<float>(magic);
  const std::int32_t steps = std::bit_cast<std::int32_t>(sum) - magic;
  const std::int32_t code = steps + ((exponent - 0x3C800000) >> 20);
  return static_cast<std::uint8_t>(static_cast<std::uint32_t>(code) | ((bits >> 24) & 0x80U));
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
