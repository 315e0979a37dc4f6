#include "ops/state_store/state_store_kernels.h"

namespace deepinfer::ops {
namespace {

/// Byte `i` of record m, as an index into the root.
std::int64_t byte_index(const graph::OpCall& call, std::int64_t m, std::int64_t i, std::int64_t row_bytes) {
  const std::int64_t slot = call.in[1].as<std::int32_t>()[m];
  const std::int64_t pos = call.in[2].as<std::int32_t>()[m];
  return slot * call.in[0].type.shape[1] + call.attrs.integer("base") + pos * row_bytes + i;
}

}  // namespace

void state_store_reference(const graph::OpCall& call) {
  const std::int64_t row_bytes = call.in[3].type.shape[1];
  for (std::int64_t m = 0; m < call.in[3].type.shape[0]; ++m) {
    for (std::int64_t i = 0; i < row_bytes; ++i) {
      call.out[0].as<std::uint8_t>()[byte_index(call, m, i, row_bytes)] =
          call.in[3].as<std::uint8_t>()[m * row_bytes + i];
    }
  }
}

void state_gather_reference(const graph::OpCall& call) {
  const std::int64_t row_bytes = call.attrs.integer("row_bytes");
  for (std::int64_t m = 0; m < call.out[0].type.shape[0]; ++m) {
    for (std::int64_t i = 0; i < row_bytes; ++i) {
      call.out[0].as<std::uint8_t>()[m * row_bytes + i] =
          call.in[0].as<std::uint8_t>()[byte_index(call, m, i, row_bytes)];
    }
  }
}

}  // namespace deepinfer::ops
