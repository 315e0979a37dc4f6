// Smallest e with 2^e >= value, from the bits: library log2 is wrong next to powers of two. Source: numerics.md 2.
#pragma once

#include <bit>
#include <cstdint>

namespace deepinfer::numeric {

/// `value` is a positive normal fp32 number.
constexpr int ceil_log2(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<int>(bits >> 23) - 127 + ((bits & 0x7FFFFFU) != 0 ? 1 : 0);
}

}  // namespace deepinfer::numeric
