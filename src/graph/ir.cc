#include "graph/ir.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/error.h"

namespace deepinfer::graph {

bool Graph::has(ValueId value) const {
  if (value.def < 0 || value.def >= num_defs() || value.result < 0) return false;
  if (is_input(value)) return value.result == 0;
  return value.result < static_cast<std::int32_t>(node_of(value).results.size());
}

const TensorType& Graph::type_of(ValueId value) const {
  if (is_input(value)) return inputs[static_cast<std::size_t>(value.def)].type;
  return node_of(value).results[static_cast<std::size_t>(value.result)];
}

std::int32_t Graph::find_input(std::string_view wanted) const {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name == wanted) return static_cast<std::int32_t>(i);
  }
  return -1;
}

std::int32_t Graph::find_output(std::string_view wanted) const {
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name == wanted) return static_cast<std::int32_t>(i);
  }
  return -1;
}

int in_place_operand(const OpDef& op, int result) {
  for (const InPlace& pair : op.in_place) {
    if (pair.result == result) return pair.operand;
  }
  return -1;
}

const OpDef& constant_op() {
  // The result type is the node's own; the verifier checks the value against it instead of inferring.
  static const OpDef op{.name = "constant", .level = OpLevel::kPrimitive};
  return op;
}

namespace {

template <typename T>
Tensor splat(const TensorType& type, T value) {
  Tensor out(type);
  auto* bytes = static_cast<std::byte*>(out.data());
  for (std::int64_t i = 0; i < type.num_elements(); ++i)
    std::memcpy(bytes + i * std::int64_t{sizeof(T)}, &value, sizeof(T));
  return out;
}

template <typename T>
Result<Tensor> splat_integer(const TensorType& type, std::int64_t value) {
  if (std::in_range<T>(value)) return splat(type, static_cast<T>(value));
  return errorf(ErrorCode::kInvalidArgument, "constant {} does not fit {}", value, dtype_name(type.dtype));
}

Result<Tensor> from_integer(const TensorType& type, std::int64_t value) {
  switch (type.dtype) {
    case DType::kPred:
      if (value == 0 || value == 1) return splat(type, static_cast<std::uint8_t>(value));
      break;
    case DType::kU8: return splat_integer<std::uint8_t>(type, value);
    case DType::kS8: return splat_integer<std::int8_t>(type, value);
    case DType::kU16: return splat_integer<std::uint16_t>(type, value);
    case DType::kS16: return splat_integer<std::int16_t>(type, value);
    case DType::kU32: return splat_integer<std::uint32_t>(type, value);
    case DType::kS32: return splat_integer<std::int32_t>(type, value);
    case DType::kS64: return splat(type, value);
    case DType::kU64: return splat_integer<std::uint64_t>(type, value);
    default: break;
  }
  return errorf(ErrorCode::kInvalidArgument, "constant {} does not fit {}", value, dtype_name(type.dtype));
}

Result<Tensor> from_float(const TensorType& type, double value) {
  const auto narrow = static_cast<float>(value);
  if (type.dtype == DType::kF64) return splat(type, value);
  // A splat must be exact; other bit patterns are given as hex.
  if (type.dtype == DType::kF32 && double{narrow} == value) return splat(type, narrow);
  if (type.dtype == DType::kBF16 && double{round_bf16(narrow)} == value) return splat(type, to_bf16(narrow));
  return errorf(ErrorCode::kInvalidArgument, "constant {:.17g} is not a value of {}", value, dtype_name(type.dtype));
}

Result<Tensor> from_bytes(const TensorType& type, const std::string& bytes) {
  if (static_cast<std::int64_t>(bytes.size()) != type.bytes()) {
    return errorf(ErrorCode::kInvalidArgument, "constant has {} bytes, {} needs {}", bytes.size(),
                  deepinfer::to_string(type), type.bytes());
  }
  Tensor out(type);
  std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

}  // namespace

Result<Tensor> materialise(const ConstantValue& value, const TensorType& type) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) return from_integer(type, *integer);
  if (const auto* real = std::get_if<double>(&value)) return from_float(type, *real);
  return from_bytes(type, std::get<std::string>(value));
}

}  // namespace deepinfer::graph
