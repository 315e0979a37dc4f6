// exp32: the one exponential of softmax, SwiGLU and the compressor; every instruction set computes these bits
// (error <= 1.02 ulp). Source: numerics.md 9.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace deepinfer::numeric {

/// Constants of exp32, shared with its vector forms.
namespace exp32_constants {
inline constexpr float kLowest = -87.0F;  ///< below: 0
inline constexpr float kHighest = 88.0F;  ///< above: +inf
inline constexpr float kLog2E = 0x1.715476p+0F;
inline constexpr float kMinusLn2High = -0x1.62e400p-1F;
inline constexpr float kMinusLn2Low = -0x1.7f7d1cp-20F;
inline constexpr float kQ0 = 0x1.6a244cp-10F;
inline constexpr float kQ1 = 0x1.1239d4p-7F;
inline constexpr float kQ2 = 0x1.5558f2p-5F;
inline constexpr float kQ3 = 0x1.555492p-3F;
inline constexpr float kQ4 = 0x1.fffffcp-2F;
inline constexpr float kRint = 0x1.8p23F;  ///< adding and subtracting it is rint for |t| < 2^22
}  // namespace exp32_constants

/// e^x; x < -87 gives 0, x > 88 gives +inf, NaN gives NaN.
inline float exp32(float x) {
  namespace c = exp32_constants;
  if (x < c::kLowest) return 0.0F;
  if (x > c::kHighest) return std::numeric_limits<float>::infinity();
  if (std::isnan(x)) return x;
  const float n = (x * c::kLog2E + c::kRint) - c::kRint;
  float r = std::fma(n, c::kMinusLn2High, x);
  r = std::fma(n, c::kMinusLn2Low, r);
  float q = std::fma(c::kQ0, r, c::kQ1);
  q = std::fma(q, r, c::kQ2);
  q = std::fma(q, r, c::kQ3);
  q = std::fma(q, r, c::kQ4);
  // p = fma(q, r * r, r) + 1: the addition rounds once more, as defined.
  const float p = std::fma(q, r * r, r) + 1.0F;
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(p) +
                              (static_cast<std::uint32_t>(static_cast<std::int32_t>(n)) << 23));
}

}  // namespace deepinfer::numeric
