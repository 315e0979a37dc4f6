#include "checkpoint/value_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace deepinfer::checkpoint {
namespace {

constexpr unsigned kScaleBias = 127;
constexpr unsigned kLargestScaleExponent = 40;

template <typename Bad>
std::int64_t count_bytes(std::span<const std::byte> bytes, Bad bad) {
  std::int64_t count = 0;
  for (const std::byte byte : bytes) count += bad(std::to_integer<unsigned>(byte)) ? 1 : 0;
  return count;
}

// Elements whose exponent field is all ones.
template <typename Word>
std::int64_t count_full_exponent(std::span<const std::byte> bytes, Word mask) {
  std::int64_t count = 0;
  for (std::size_t i = 0; i + sizeof(Word) <= bytes.size(); i += sizeof(Word)) {
    Word word;
    std::memcpy(&word, bytes.data() + i, sizeof(Word));
    count += (word & mask) == mask ? 1 : 0;
  }
  return count;
}

}  // namespace

std::int64_t count_e4m3_nan(std::span<const std::byte> bytes) {
  return count_bytes(bytes, [](unsigned code) { return (code & 0x7F) == 0x7F; });
}
std::int64_t count_e8m0_nan(std::span<const std::byte> bytes) {
  return count_bytes(bytes, [](unsigned code) { return code == 0xFF; });
}
std::int64_t count_e8m0_huge(std::span<const std::byte> bytes) {
  return count_bytes(bytes, [](unsigned code) { return code > kScaleBias + kLargestScaleExponent && code != 0xFF; });
}
std::int64_t count_nonfinite_bf16(std::span<const std::byte> bytes) {
  return count_full_exponent<std::uint16_t>(bytes, 0x7F80);
}
std::int64_t count_nonfinite_f32(std::span<const std::byte> bytes) {
  return count_full_exponent<std::uint32_t>(bytes, 0x7F800000U);
}

bool all_zero(std::span<const std::byte> bytes) {
  return std::all_of(bytes.begin(), bytes.end(), [](std::byte byte) { return byte == std::byte{0}; });
}

std::string scan_values(WeightKind kind, std::span<const std::byte> bytes) {
  switch (kind) {
    case WeightKind::kE4M3: {
      const auto bad = count_e4m3_nan(bytes);
      return bad == 0 ? "" : fmt::format("{} NaN codes (0x7F, 0xFF) in an e4m3 weight, accepted: none", bad);
    }
    case WeightKind::kE8M0: {
      const auto bad = count_e8m0_nan(bytes);
      const auto huge = count_e8m0_huge(bytes);
      if (all_zero(bytes)) return "every scale is code 0 (2^-127), accepted: trained scales";
      if (bad + huge == 0) return "";
      return fmt::format("{} NaN codes (0xFF) and {} scales above 2^40 in a ue8m0 scale, accepted: none", bad, huge);
    }
    case WeightKind::kBF16: {
      const auto bad = count_nonfinite_bf16(bytes);
      return bad == 0 ? "" : fmt::format("{} infinite or NaN values, accepted: none", bad);
    }
    case WeightKind::kF32: {
      const auto bad = count_nonfinite_f32(bytes);
      return bad == 0 ? "" : fmt::format("{} infinite or NaN values, accepted: none", bad);
    }
    case WeightKind::kFp4: return "";
  }
  return "";
}

}  // namespace deepinfer::checkpoint
