// The two implementations behind topk_select's OpDef, and the selection itself, which candidate_blocks uses as well.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>

#include "graph/op_def.h"

namespace deepinfer::ops {

/// Scores at or below this are masked; in bf16 the same constant after rounding.
inline constexpr float kMaskedF32 = -1e30F;
inline constexpr float kMaskedBF16 = round_bf16(-1e30F);

/// 0 = not eligible (masked or NaN); otherwise a key whose unsigned order is the order of the scores, -0 as +0.
inline std::uint32_t score_key(float score, float masked) {
  if (!(score > masked)) return 0;
  const auto bits = std::bit_cast<std::uint32_t>(score + 0.0F);
  return (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
}

/// What of n keys is taken: every key above `threshold`, and the first `ties` keys equal to it.
struct Cut {
  std::uint32_t threshold = 1;
  std::int64_t ties = 0;
  std::int64_t count = 0;  ///< keys taken
};

/// The cut that takes the min(k, eligible) best of keys key(0..n-1): byte-wise radix selection, at most four passes.
template <typename Key>
Cut find_cut(std::int64_t n, std::int64_t k, const Key& key) {
  std::uint32_t prefix = 0;
  std::int64_t need = k;
  for (int shift = 24; shift >= 0; shift -= 8) {
    std::array<std::int64_t, 256> histogram{};
    std::int64_t eligible = 0;
    for (std::int64_t i = 0; i < n; ++i) {
      const std::uint32_t value = key(i);
      if (value == 0 || (std::uint64_t{value ^ prefix} >> (shift + 8)) != 0) continue;
      ++histogram[(value >> shift) & 255U];
      ++eligible;
    }
    if (shift == 24 && eligible <= k) return {1, eligible, eligible};
    std::size_t bin = 255;
    for (; histogram[bin] < need; --bin) need -= histogram[bin];
    prefix |= static_cast<std::uint32_t>(bin) << shift;
  }
  return {prefix, need, k};
}

/// Writes the positions of the min(k, eligible) best keys in ascending order, equal keys by lower position, then zeros
/// up to k. Returns how many were written before the zeros.
template <typename Key>
std::int64_t select_best(std::int64_t n, std::int64_t k, const Key& key, std::int32_t* ids) {
  Cut cut = n <= k ? Cut{1, n, 0} : find_cut(n, k, key);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t value = key(i);
    if (value < cut.threshold) continue;
    if (value == cut.threshold && cut.ties-- <= 0) continue;
    ids[count++] = static_cast<std::int32_t>(i);
  }
  for (std::int64_t i = count; i < k; ++i) ids[i] = 0;
  return count;
}

void topk_select_host(const graph::OpCall& call);
void topk_select_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
