#include "tensor/numeric/rope_table.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <numbers>

#include "base/check.h"

namespace deepinfer::numeric {
namespace {

constexpr std::array<std::uint32_t, 32> kMainBits = {
    0x3F800000, 0x3F3FF911, 0x3F0FF59A, 0x3ED7E89B, 0x3EA1E89B, 0x3E72D423, 0x3E361887, 0x3E088D77,
    0x3DCCCCCD, 0x3D99940D, 0x3D6655C2, 0x3D2CBA15, 0x3D0186E3, 0x3CC2434F, 0x3C91AD39, 0x3C5A7BF2,
    0x3C23D70A, 0x3BF5B9B0, 0x3BB8449C, 0x3B8A2E77, 0x3B4F3E38, 0x3B1B690D, 0x3AE91528, 0x3AAEC98E,
    0x3A83126F, 0x3A44948C, 0x3A136A16, 0x39DD1725, 0x39A5CB60, 0x3978A815, 0x393A7753, 0x390BD472};

constexpr std::array<std::uint32_t, 32> kCompressedBits = {
    0x3F800000, 0x3F300A3A, 0x3EF21C1F, 0x3EA67D01, 0x3E64F92E, 0x3E1D7475, 0x3DD88CB4, 0x3D94E963,
    0x3D4CCCCD, 0x3D0CD4FB, 0x3CC1B019, 0x3C8530CE, 0x3C372DBF, 0x3BFBED88, 0x3BAD3D5E, 0x3B6E4237,
    0x3B147AE1, 0x3AB714E0, 0x3A5EBDB6, 0x3A0530CE, 0x399BB3AF, 0x39305978, 0x38BE904D, 0x383E9B5F,
    0x37A3D70C, 0x36B443D0, 0x3677EBA6, 0x362A7BE8, 0x35EA77FF, 0x35A13BDC, 0x355DBF30, 0x35187C4D};

/// Channel index whose wavelength makes `rotations` turns over the original context.
double correction_dim(const RopeSpec& spec, double rotations) {
  const double turns = static_cast<double>(spec.original_length) / (rotations * 2.0 * std::numbers::pi);
  return static_cast<double>(spec.dim) * std::log(turns) / (2.0 * std::log(spec.base));
}

/// YaRN: frequencies above `high` are divided by the factor, below `low` kept, blended in between (all fp32).
void apply_yarn(const RopeSpec& spec, std::vector<float>& frequencies) {
  const double low = std::max(std::floor(correction_dim(spec, spec.beta_fast)), 0.0);
  const double high = std::min(std::ceil(correction_dim(spec, spec.beta_slow)), static_cast<double>(spec.dim - 1));
  const float width = static_cast<float>(std::max(high - low, 0.001));
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const float f = frequencies[i];
    const float ramp = std::clamp((static_cast<float>(i) - static_cast<float>(low)) / width, 0.0F, 1.0F);
    const float smooth = 1.0F - ramp;
    frequencies[i] = (f / static_cast<float>(spec.factor)) * (1.0F - smooth) + f * smooth;
  }
}

std::vector<float> from_bits(std::span<const std::uint32_t> bits) {
  std::vector<float> out;
  for (const std::uint32_t b : bits) out.push_back(std::bit_cast<float>(b));
  return out;
}

}  // namespace

std::vector<float> rope_frequencies(const RopeSpec& spec) {
  DI_CHECK(spec.dim > 0 && spec.dim % 2 == 0, "rotary channels {}", spec.dim);
  const bool yarn = spec.factor != 1.0;
  if (spec.dim == 64 && spec.base == 10000.0 && !yarn) return from_bits(kMainBits);
  if (spec.dim == 64 && spec.base == 160000.0 && spec.factor == 16.0 && spec.original_length == 65536 &&
      spec.beta_fast == 32.0 && spec.beta_slow == 1.0) {
    return from_bits(kCompressedBits);
  }
  std::vector<float> frequencies;
  for (std::int64_t i = 0; i < spec.dim / 2; ++i) {
    const double exponent = static_cast<double>(2 * i) / static_cast<double>(spec.dim);
    frequencies.push_back(1.0F / static_cast<float>(std::pow(spec.base, exponent)));
  }
  if (yarn) apply_yarn(spec, frequencies);
  return frequencies;
}

float rope_angle(std::int64_t position, float frequency) { return static_cast<float>(position) * frequency; }

CosSin rope_cos_sin(std::int64_t position, float frequency) {
  const auto angle = static_cast<double>(rope_angle(position, frequency));
  return {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
}

void rope_row(std::span<const float> frequencies, std::int64_t position, float* cos, float* sin) {
  for (std::size_t i = 0; i < frequencies.size(); ++i) {
    const CosSin value = rope_cos_sin(position, frequencies[i]);
    cos[i] = value.cos;
    sin[i] = value.sin;
  }
}

}  // namespace deepinfer::numeric
