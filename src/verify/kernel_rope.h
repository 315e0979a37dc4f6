// Rotary rows of the two released tables at the positions of a case.
#pragma once

#include <vector>

#include "tensor/numeric/rope_table.h"
#include "tensor/tensor.h"

namespace deepinfer::verify {

inline numeric::RopeSpec main_rope() { return {}; }
inline numeric::RopeSpec compressed_rope() { return {.base = 160000.0, .factor = 16.0, .original_length = 65536}; }

struct RopeRows {
  Tensor cos;  ///< f32 [positions, dim / 2]
  Tensor sin;
};
inline RopeRows rope_rows(const numeric::RopeSpec& spec, const Tensor& positions) {
  const std::vector<float> frequencies = numeric::rope_frequencies(spec);
  const std::int64_t rows = positions.type().num_elements();
  const Shape shape{rows, spec.dim / 2};
  RopeRows out{Tensor(DType::kF32, shape), Tensor(DType::kF32, shape)};
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::int64_t at = r * shape[1];
    numeric::rope_row(frequencies, positions.as<std::int64_t>()[r], out.cos.as<float>() + at,
                      out.sin.as<float>() + at);
  }
  return out;
}

}  // namespace deepinfer::verify
