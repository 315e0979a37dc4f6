// Functions evaluated in double by the C library and rounded once to fp32: a few hundred values a token (HC
// coefficients, router). Source: numerics.md 9.
#pragma once

#include <cmath>

namespace deepinfer::numeric {

/// 1 / (1 + e^-x)
inline float sigmoid_f64(float x) { return static_cast<float>(1.0 / (1.0 + std::exp(-static_cast<double>(x)))); }
/// x > 20 ? x : log1p(e^x)
inline float softplus_f64(float x) {
  return x > 20.0F ? x : static_cast<float>(std::log1p(std::exp(static_cast<double>(x))));
}
inline float sqrt_f64(float x) { return static_cast<float>(std::sqrt(static_cast<double>(x))); }
inline float log1p_f64(float x) { return static_cast<float>(std::log1p(static_cast<double>(x))); }

}  // namespace deepinfer::numeric
