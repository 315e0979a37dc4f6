// Random numbers of one decision: pure functions of (seed, position, case, index), whatever else runs.
//
// Philox4x32-10 with key = seed and subsequence = 3 * position + case; the counter is (index, 0, subsequence).
// Source: numerics.md 10, engine.md 12.4.
#pragma once

#include <array>
#include <cstdint>

#include "base/philox.h"
#include "engine/sampling/natural_log.h"

namespace deepinfer::engine {

enum class RandomCase : std::uint8_t {
  kDraw = 0,      ///< the token of a row
  kResidual = 1,  ///< the token after a rejected draft
  kAccept = 2,    ///< whether a draft is accepted
};

/// Added to the seed of drafts drawn in rejection mode.
inline constexpr std::uint64_t kDraftSeedOffset = 1'000'000'007;
/// Seed of choice i = seed + i * this.
inline constexpr std::uint64_t kChoiceSeedStep = 0x9E3779B97F4A7C15;

class RandomStream {
 public:
  /// `position` is the absolute position of the token being decided.
  RandomStream(std::uint64_t seed, std::int64_t position, RandomCase random_case)
      : key_{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)},
        subsequence_(3 * static_cast<std::uint64_t>(position) + static_cast<std::uint64_t>(random_case)) {}

  /// 53 uniform bits for ids 2 * index and 2 * index + 1.
  std::array<std::uint64_t, 2> bits(std::uint32_t index) const {
    const base::PhiloxCounter w = base::philox4x32_10(
        {index, 0, static_cast<std::uint32_t>(subsequence_), static_cast<std::uint32_t>(subsequence_ >> 32)}, key_);
    return {(std::uint64_t{w[0]} << 32 | w[1]) >> 11, (std::uint64_t{w[2]} << 32 | w[3]) >> 11};
  }
  /// In [0, 1).
  double uniform() const { return static_cast<double>(bits(0)[0]) * 0x1p-53; }

 private:
  base::PhiloxKey key_;
  std::uint64_t subsequence_;
};

/// -ln(u), u = (bits + 0.5) * 2^-53. NOTE: bits + 0.5 rounds to even from 2^52 on, so the largest u is 1; it counts as
/// the number just below, 1 - 2^-54, which keeps the noise finite (below 37.5).
inline double minus_log_uniform(std::uint64_t bits) {
  const double u = (static_cast<double>(bits) + 0.5) * 0x1p-53;
  return u < 1 ? -natural_log(u) : 0x1p-54;
}
/// Gumbel noise of 53 uniform bits.
inline double gumbel_noise(std::uint64_t bits) { return -natural_log(minus_log_uniform(bits)); }

}  // namespace deepinfer::engine
