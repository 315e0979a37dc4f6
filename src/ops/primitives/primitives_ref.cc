#include <cstring>
#include <functional>

#include "ops/primitives/primitives_kernels.h"

namespace deepinfer::ops {
namespace {

/// Element i of `from` becomes element j of `to`: float types as float64, others byte for byte.
void move(const ConstTensorRef& from, std::int64_t i, const TensorRef& to, std::int64_t j) {
  if (from.type.dtype == DType::kBF16) {
    to.as<double>()[j] = double{to_float(from.as<BF16>()[i])};
  } else if (from.type.dtype == DType::kF32) {
    to.as<double>()[j] = double{from.as<float>()[i]};
  } else {
    const std::int64_t size = dtype_bytes(from.type.dtype);
    std::memcpy(static_cast<char*>(to.data) + j * size, static_cast<const char*>(from.data) + i * size,
                static_cast<std::size_t>(size));
  }
}

/// Index along `axis` of element i, and the element number with that index replaced.
std::int64_t axis_index(const Shape& shape, int axis, std::int64_t i) {
  return i / shape.inner(axis + 1) % shape[axis];
}

std::int64_t relocate(const Shape& from, const Shape& to, int axis, std::int64_t i, std::int64_t index) {
  const std::int64_t inner = from.inner(axis + 1);
  const std::int64_t outer = i / (inner * from[axis]);
  return (outer * to[axis] + index) * inner + i % inner;
}

void slice_elements(const graph::OpCall& call, int axis) {
  const Shape& source = call.in[0].type.shape;
  const Shape& target = call.out[0].type.shape;
  for (std::int64_t j = 0; j < target.num_elements(); ++j) {
    const std::int64_t index = call.attrs.integer("begin") + axis_index(target, axis, j);
    move(call.in[0], relocate(target, source, axis, j, index), call.out[0], j);
  }
}

}  // namespace

void reshape_reference(const graph::OpCall& call) {
  for (std::int64_t i = 0; i < call.in[0].type.num_elements(); ++i) move(call.in[0], i, call.out[0], i);
}

void slice_rows_reference(const graph::OpCall& call) { slice_elements(call, 0); }

void slice_reference(const graph::OpCall& call) { slice_elements(call, static_cast<int>(call.attrs.integer("axis"))); }

void concat_reference(const graph::OpCall& call) {
  const auto axis = static_cast<int>(call.attrs.integer("axis"));
  const Shape& target = call.out[0].type.shape;
  std::int64_t first = 0;
  for (const ConstTensorRef& part : call.in) {
    for (std::int64_t i = 0; i < part.type.num_elements(); ++i) {
      const std::int64_t index = first + axis_index(part.type.shape, axis, i);
      move(part, i, call.out[0], relocate(part.type.shape, target, axis, i, index));
    }
    first += part.type.shape[axis];
  }
}

void gather_rows_reference(const graph::OpCall& call) {
  const std::int64_t inner = call.in[0].type.shape.inner(1);
  for (std::int64_t j = 0; j < call.out[0].type.num_elements(); ++j) {
    move(call.in[0], call.in[1].as<std::int32_t>()[j / inner] * inner + j % inner, call.out[0], j);
  }
}

}  // namespace deepinfer::ops
