// Rotary frequencies and the cosine and sine of a position. Source: numerics.md 8, model.md 6.
//
// The frequencies of the two released tables are pinned fp32 constants; other sizes use the two-rounding form
// f = 1 / fp32(pow(base, 2i/d)) and, with factor > 1, the YaRN blend of model.md 6 in fp32.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace deepinfer::numeric {

struct RopeSpec {
  std::int64_t dim = 64;  ///< rotary channels, even
  double base = 10000.0;
  double factor = 1.0;               ///< YaRN context extension; 1 = no YaRN
  std::int64_t original_length = 0;  ///< YaRN only: trained context
  double beta_fast = 32.0;           ///< YaRN only
  double beta_slow = 1.0;            ///< YaRN only
};

/// dim / 2 frequencies.
std::vector<float> rope_frequencies(const RopeSpec& spec);

/// Angle fp32(position) * frequency, rounded to fp32.
float rope_angle(std::int64_t position, float frequency);

struct CosSin {
  float cos;
  float sin;
};
/// cos and sin of rope_angle in double, rounded once.
CosSin rope_cos_sin(std::int64_t position, float frequency);
/// cos[i], sin[i] of one position for every frequency.
void rope_row(std::span<const float> frequencies, std::int64_t position, float* cos, float* sin);

}  // namespace deepinfer::numeric
