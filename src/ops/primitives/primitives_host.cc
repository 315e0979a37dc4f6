#include <cstring>

#include "ops/primitives/primitives_kernels.h"

namespace deepinfer::ops {
namespace {

/// A tensor around one axis: `outer` repetitions of extent * unit bytes.
struct AxisLayout {
  std::int64_t outer;
  std::int64_t bytes;  ///< of the whole axis: one repetition
  std::int64_t unit;   ///< of one index of the axis
};

AxisLayout layout(const TensorType& type, int axis) {
  const std::int64_t unit = type.shape.inner(axis + 1) * dtype_bytes(type.dtype);
  const std::int64_t bytes = type.shape[axis] * unit;
  return {type.bytes() / bytes, bytes, unit};
}

const std::byte* bytes_of(const ConstTensorRef& tensor) {
  DI_CHECK(tensor.segments == nullptr, "segmented operand {}", to_string(tensor.type));
  return static_cast<const std::byte*>(tensor.data);
}

void copy(std::byte* to, const std::byte* from, std::int64_t bytes) {
  std::memcpy(to, from, static_cast<std::size_t>(bytes));
}

}  // namespace

void slice_host(const graph::OpCall& call) {
  const AxisLayout source = layout(call.in[0].type, static_cast<int>(call.attrs.integer("axis")));
  const std::int64_t first = call.attrs.integer("begin") * source.unit;
  const std::int64_t bytes = call.out[0].type.bytes() / source.outer;
  const std::byte* from = bytes_of(call.in[0]) + first;
  auto* to = static_cast<std::byte*>(call.out[0].data);
  for (std::int64_t i = 0; i < source.outer; ++i) copy(to + i * bytes, from + i * source.bytes, bytes);
}

void concat_host(const graph::OpCall& call) {
  const auto axis = static_cast<int>(call.attrs.integer("axis"));
  const AxisLayout target = layout(call.out[0].type, axis);
  auto* to = static_cast<std::byte*>(call.out[0].data);
  for (const ConstTensorRef& part : call.in) {
    const AxisLayout source = layout(part.type, axis);
    for (std::int64_t i = 0; i < source.outer; ++i) {
      copy(to + i * target.bytes, bytes_of(part) + i * source.bytes, source.bytes);
    }
    to += source.bytes;
  }
}

void gather_rows_host(const graph::OpCall& call) {
  const std::int64_t num_rows = call.in[0].type.shape[0];
  const std::int64_t row_bytes = call.in[0].type.bytes() / num_rows;
  const std::byte* from = bytes_of(call.in[0]);
  auto* to = static_cast<std::byte*>(call.out[0].data);
  const std::int32_t* idx = call.in[1].as<std::int32_t>();
  call.ctx.pool->parallel_for(call.in[1].type.shape[0], 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      DI_CHECK(idx[i] >= 0 && idx[i] < num_rows, "idx[{}] = {} of {} rows", i, idx[i], num_rows);
      copy(to + i * row_bytes, from + idx[i] * row_bytes, row_bytes);
    }
  });
}

}  // namespace deepinfer::ops
