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
  const std::uint32_t flip = (0U - (bits >> 31)) | 0x80000000U;  // negative: all bits, else the sign; no branch
  return bits ^ flip;
}

/// Keys of a score row: number i of the row at `scores`. kBits = significant bits of a key.
struct F32Keys {
  static constexpr int kBits = 32;
  const float* scores;
  std::uint32_t operator()(std::int64_t i) const { return score_key(scores[i], kMaskedF32); }
};
struct BF16Keys {
  static constexpr int kBits = 16;
  const BF16* scores;
  std::uint32_t operator()(std::int64_t i) const { return score_key(to_float(scores[i]), kMaskedBF16) >> 16; }
};
/// Keys computed before.
template <int kKeyBits>
struct StoredKeys {
  static constexpr int kBits = kKeyBits;
  const std::uint32_t* keys;
  std::uint32_t operator()(std::int64_t i) const { return keys[i]; }
};

/// What is taken: every key above `threshold`, and the first `ties` keys equal to it.
struct Cut {
  std::uint32_t threshold = 1;
  std::int64_t ties = 0;
};

/// How often each byte (key >> shift) occurs among the eligible keys whose higher bits equal those of `prefix`.
template <typename Keys>
std::array<std::int64_t, 256> byte_histogram(std::int64_t n, const Keys& keys, std::uint32_t prefix, int shift) {
  std::array<std::array<std::int32_t, 256>, 4> lanes{};  // four, so that equal neighbours do not wait for each other
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t key = keys(i);
    const bool counts = key != 0 && (std::uint64_t{key ^ prefix} >> (shift + 8)) == 0;
    lanes[static_cast<std::size_t>(i & 3)][(key >> shift) & 255U] += counts ? 1 : 0;
  }
  std::array<std::int64_t, 256> sum{};
  for (const auto& lane : lanes) {
    for (std::size_t bin = 0; bin < 256; ++bin) sum[bin] += lane[bin];
  }
  return sum;
}

/// The cut that takes the min(k, eligible) best of n keys: one pass a byte.
template <typename Keys>
Cut find_cut(std::int64_t n, std::int64_t k, const Keys& keys) {
  std::uint32_t prefix = 0;
  std::int64_t need = k;
  for (int shift = Keys::kBits - 8; shift >= 0; shift -= 8) {
    const std::array<std::int64_t, 256> histogram = byte_histogram(n, keys, prefix, shift);
    std::size_t bin = 255;
    for (; bin > 0 && histogram[bin] < need; --bin) need -= histogram[bin];
    if (histogram[bin] < need) return {1, n};  // fewer than k eligible keys: all of them
    prefix |= static_cast<std::uint32_t>(bin) << shift;
  }
  return {prefix, need};
}

/// Writes the positions of the min(k, eligible) best keys in ascending order, equal keys by lower position, then zeros
/// up to k. Returns how many were written before the zeros.
template <typename Keys>
std::int64_t select_best(std::int64_t n, std::int64_t k, const Keys& keys, std::int32_t* ids) {
  Cut cut = n <= k ? Cut{1, n} : find_cut(n, k, keys);
  std::int64_t count = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint32_t key = keys(i);
    if (key < cut.threshold) continue;
    if (key == cut.threshold && cut.ties-- <= 0) continue;
    ids[count++] = static_cast<std::int32_t>(i);
  }
  for (std::int64_t i = count; i < k; ++i) ids[i] = 0;
  return count;
}

void topk_select_host(const graph::OpCall& call);
void topk_select_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
