#include "ops/window_concat/window_concat_kernels.h"

namespace deepinfer::ops {

void window_concat_reference(const graph::OpCall& call) {
  const std::int64_t history = call.in[1].type.shape[0];
  const std::int64_t row_bytes = call.in[3].type.shape[1];
  for (std::int64_t i = 0; i < call.out[0].type.num_elements(); ++i) {
    const std::int64_t row = i / row_bytes;
    if (row >= history) {
      call.out[0].as<std::uint8_t>()[i] = call.in[3].as<std::uint8_t>()[i - history * row_bytes];
      continue;
    }
    const std::int64_t at = call.in[1].as<std::int32_t>()[row] * call.in[0].type.shape[1] +
                            call.attrs.integer("base") + call.in[2].as<std::int32_t>()[row] * row_bytes;
    call.out[0].as<std::uint8_t>()[i] = call.in[0].as<std::uint8_t>()[at + i % row_bytes];
  }
}

}  // namespace deepinfer::ops
