// Folding of weight scales into an activation row, shared by the fp8 products.
#pragma once

#include <algorithm>
#include <cstdint>

#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {

/// out[k] = x[k] * scale[k / kb], exact: multiplying by a power of two.
inline void fold_scales(const float* x, const std::uint8_t* scales, std::int64_t k, std::int64_t kb, float* out) {
  for (std::int64_t b = 0; b * kb < k; ++b) {
    const float s = numeric::decode_e8m0(scales[b]);
    for (std::int64_t i = b * kb; i < std::min((b + 1) * kb, k); ++i) out[i] = x[i] * s;
  }
}

}  // namespace deepinfer::ops
