// Conditions that `infer` functions of many ops share, and their one message form.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "graph/op_def.h"

namespace deepinfer::ops {

/// Error "operand <name> is <found>, expected <expected>" unless the condition holds.
inline Status expect_operand(bool condition, std::string_view name, const TensorType& found,
                             std::string_view expected) {
  if (condition) return {};
  return errorf(ErrorCode::kInvalidArgument, "operand {} is {}, expected {}", name, to_string(found), expected);
}

inline bool is_a(const TensorType& type, DType dtype, int rank) {
  return type.dtype == dtype && type.shape.rank() == rank;
}
/// Codes or scales: u8 or the 8-bit float that the checkpoint names.
inline bool is_bytes(const TensorType& type) {
  return type.dtype == DType::kU8 || type.dtype == DType::kF8E4M3FN || type.dtype == DType::kF8E8M0;
}
inline bool is_bytes(const TensorType& type, int rank) { return is_bytes(type) && type.shape.rank() == rank; }

/// The type with its last extent replaced.
inline TensorType with_last(DType dtype, const Shape& shape, std::int64_t last) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents.back() = last;
  return {dtype, Shape(std::span<const std::int64_t>(extents))};
}

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

}  // namespace deepinfer::ops
