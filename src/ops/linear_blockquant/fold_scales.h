// Folding of weight scales into an activation row, shared by the fp8 products.
#pragma once

#include <cstdint>

#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {

/// out[i] = x[i] * scale[i / kb] for i < k, exact: multiplying by a power of two. k is a multiple of kb.
inline void fold_scales(const float* x, const std::uint8_t* scales, std::int64_t k, std::int64_t kb, float* out) {
  for (std::int64_t b = 0; b < k / kb; ++b) {
    const float s = numeric::decode_e8m0(scales[b]);
    for (std::int64_t i = b * kb; i < (b + 1) * kb; ++i) out[i] = x[i] * s;
  }
}

}  // namespace deepinfer::ops
