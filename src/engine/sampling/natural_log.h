// The engine's own natural logarithm: the same bits on every machine and with every C library (error <= 2 ulp).
//
// x = 2^k m with m in [sqrt(1/2), sqrt 2): ln x = k ln 2 + 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.1716. The series
// s + s^3/3 + ... + s^23/23 leaves a relative error below 2^-66. Source: engine.md 12.4.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>

namespace deepinfer::engine {

/// ln(x) of a positive normal number.
inline double natural_log(double x) {
  constexpr std::uint64_t kMantissa = (std::uint64_t{1} << 52) - 1;
  constexpr double kSqrt2 = 0x1.6a09e667f3bcdp+0;
  constexpr double kLn2High = 0x1.62e42fee00000p-1;  // 32 bits: its product with an exponent is exact
  constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
  const auto bits = std::bit_cast<std::uint64_t>(x);
  auto k = static_cast<double>(static_cast<std::int64_t>(bits >> 52) - 1023);
  double m = std::bit_cast<double>((bits & kMantissa) | (std::uint64_t{1023} << 52));
  if (m > kSqrt2) {
    m *= 0.5;
    k += 1;
  }
  const double f = m - 1;
  const double s = f / (2 + f);
  const double z = s * s;
  double p = 1.0 / 23;
  for (int n = 21; n >= 3; n -= 2) p = std::fma(p, z, 1.0 / n);
  const double series = 2 * s + std::fma(2 * s * z, p, k * kLn2Low);
  return std::fma(k, kLn2High, series);
}

}  // namespace deepinfer::engine
