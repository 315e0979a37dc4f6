// bfloat16 storage and its exact conversions. Source: numerics.md 2.
#pragma once

#include <bit>
#include <cstdint>

namespace deepinfer {

struct BF16 {
  std::uint16_t bits = 0;
  bool operator==(const BF16&) const = default;
};

constexpr float to_float(BF16 value) { return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16); }

/// Round to nearest even on bit 16; NaN becomes a quiet NaN with its top payload bits kept.
constexpr BF16 to_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFFFFFFU) > 0x7F800000U) return {static_cast<std::uint16_t>((bits >> 16) | 0x40U)};
  return {static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16) & 1U)) >> 16)};
}

constexpr float round_bf16(float value) { return to_float(to_bf16(value)); }

}  // namespace deepinfer
