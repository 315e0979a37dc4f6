// Integer forms and scales shared by the tables of all instruction sets.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "tensor/numeric/e4m3fn.h"

namespace deepinfer::isa {

inline constexpr std::int64_t kGroup = 32;  ///< columns under one ue8m0 scale

/// ue8m0 scale as the kernels read it: 0 is 2^-127 and 255 (a fault mark of the quantisers, never in weights) is
/// infinity, which stays visible in the result.
constexpr float scale_value(std::uint8_t code) {
  return std::bit_cast<float>(std::max(static_cast<std::uint32_t>(code) << 23, 0x00400000U));
}

/// e4m3fn values in units of 2^-9, |A| <= 229,376; the NaN codes read as 480 (their block has scale 255).
constexpr std::array<std::int32_t, 256> make_e4m3_integers() {
  std::array<std::int32_t, 256> out{};
  for (int code = 0; code < 256; ++code) {
    out[static_cast<std::size_t>(code)] = static_cast<std::int32_t>(numeric::detail::e4m3_plain_value(code) * 0x1p9F);
  }
  return out;
}
inline constexpr std::array<std::int32_t, 256> kE4M3Integers = make_e4m3_integers();

}  // namespace deepinfer::isa
