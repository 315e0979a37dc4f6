// e4m3 (IEEE), the 8-bit type of Trainium2: like e4m3fn, but exponent field 15 is infinity and NaN, so the largest
// finite value is 240. Also the exact-as-possible halving that brings e4m3fn weights into that range.
// Source: numerics.md 1, 4.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <limits>

#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/range.h"

namespace deepinfer::numeric {

namespace detail {
constexpr std::array<float, 256> make_e4m3_values() {
  std::array<float, 256> values{};
  for (int code = 0; code < 256; ++code) {
    float value = e4m3_plain_value(code);
    if ((code & 0x78) == 0x78) {
      value = (code & 7) != 0 ? std::numeric_limits<float>::quiet_NaN() : std::numeric_limits<float>::infinity();
      if ((code & 0x80) != 0) value = -value;
    }
    values[static_cast<std::size_t>(code)] = value;
  }
  return values;
}
}  // namespace detail

inline constexpr std::array<float, 256> kE4M3Values = detail::make_e4m3_values();

constexpr float decode_e4m3(std::uint8_t code) { return kE4M3Values[code]; }

/// Clamps to +-240, then rounds to nearest even. NaN gives a NaN code.
inline std::uint8_t encode_e4m3(float value) {
  if (std::isnan(value)) return 0x7F;
  return detail::e4m3_round(std::fmin(std::fmax(value, -kIeeeE4M3Max), kIeeeE4M3Max));
}

/// True for the codes whose value differs between e4m3fn and e4m3 (exponent field 15): never upload these.
constexpr bool is_outside_e4m3(std::uint8_t code) { return (code & 0x78) == 0x78; }

/// Half of an e4m3fn value, to be paired with scale exponent + 1: <= 224. Exact but for the 16 codes +-{01,03..0F}
/// (error 2^-9 of the old scale, ties to even). NaN codes stay.
constexpr std::uint8_t halve_e4m3(std::uint8_t code) {
  const int sign = code & 0x80;
  const int magnitude = code & 0x7F;
  if (magnitude == 0x7F) return code;
  if (magnitude >= 0x10) return static_cast<std::uint8_t>(sign | (magnitude - 8));
  const int half = magnitude >> 1;
  return static_cast<std::uint8_t>(sign | (half + (magnitude & half & 1)));
}

/// True where halve_e4m3 loses nothing.
constexpr bool halves_exactly(std::uint8_t code) {
  const int magnitude = code & 0x7F;
  return magnitude != 0x7F && (magnitude >= 0x10 || (magnitude & 1) == 0);
}

/// True for 256..448, the finite values that force a rescale of their block (policy halve_if_needed).
constexpr bool needs_rescale(std::uint8_t code) { return is_outside_e4m3(code) && !is_nan_e4m3fn(code); }

}  // namespace deepinfer::numeric
