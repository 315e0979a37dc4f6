// Shapes, tensor types, untyped references and owning tensors. Always dense row-major, outermost extent first.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>

#include "base/check.h"
#include "tensor/bf16.h"
#include "tensor/dtype.h"

namespace deepinfer {

/// Up to six extents, each >= 1 (rank 0 = scalar). Zero extents are refused by the graph verifier (G003).
class Shape {
 public:
  static constexpr int kMaxRank = 6;
  Shape() = default;
  Shape(std::initializer_list<std::int64_t> extents) : Shape(std::span(extents.begin(), extents.size())) {}
  explicit Shape(std::span<const std::int64_t> extents);

  int rank() const { return rank_; }
  std::int64_t operator[](int axis) const { return extents_[static_cast<std::size_t>(axis)]; }
  std::int64_t back() const { return extents_[static_cast<std::size_t>(rank_ - 1)]; }
  std::span<const std::int64_t> extents() const { return {extents_.data(), static_cast<std::size_t>(rank_)}; }
  std::int64_t num_elements() const;
  /// Product of the extents from `axis` on (1 at the end): the stride of axis - 1.
  std::int64_t inner(int axis) const;
  bool operator==(const Shape&) const = default;

 private:
  std::array<std::int64_t, kMaxRank> extents_{};
  int rank_ = 0;
};

struct TensorType {
  DType dtype = DType::kF32;
  Shape shape;
  std::int64_t num_elements() const { return shape.num_elements(); }
  std::int64_t bytes() const { return num_elements() * dtype_bytes(dtype); }
  bool operator==(const TensorType&) const = default;
};
/// "bf16[8,5120]", "f32[]".
std::string to_string(const TensorType& type);

/// C++ element type of a DType: as<float>() and friends check against it.
template <typename T>
constexpr bool holds(DType dtype) {
  if constexpr (std::is_same_v<T, float>) return dtype == DType::kF32;
  if constexpr (std::is_same_v<T, double>) return dtype == DType::kF64;
  if constexpr (std::is_same_v<T, BF16>) return dtype == DType::kBF16;
  if constexpr (std::is_same_v<T, std::int32_t>) return dtype == DType::kS32;
  if constexpr (std::is_same_v<T, std::int64_t>) return dtype == DType::kS64;
  if constexpr (std::is_same_v<T, std::uint8_t>) return dtype_bytes(dtype) == 1;
  return false;
}

/// Non-owning, read-only reference. The storage belongs to whoever made the reference.
/// `segments`, when set, replaces `data`: the leading extent's slices lie at separate addresses (one pointer each), as
/// the expert matrices of a mapped checkpoint do. Use `slice<T>(i)` to address both forms.
struct ConstTensorRef {
  TensorType type;
  const void* data = nullptr;
  const void* const* segments = nullptr;

  template <typename T>
  const T* as() const {
    DI_CHECK(holds<T>(type.dtype) && segments == nullptr, "tensor is {}", to_string(type));
    return static_cast<const T*>(data);
  }
  /// Slice i of the leading extent.
  template <typename T>
  const T* slice(std::int64_t i) const {
    if (segments != nullptr) return static_cast<const T*>(segments[i]);
    return static_cast<const T*>(data) + i * type.shape.inner(1);
  }
};

struct TensorRef {
  TensorType type;
  void* data = nullptr;

  template <typename T>
  T* as() const {
    DI_CHECK(holds<T>(type.dtype), "tensor is {}", to_string(type));
    return static_cast<T*>(data);
  }
  operator ConstTensorRef() const { return {type, data, nullptr}; }  // NOLINT(google-explicit-constructor)
};

/// 64-byte aligned owning buffer; contents are uninitialised (debug builds: 0xFB, a NaN in every float type).
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(std::size_t bytes);
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(std::byte* pointer) const;
  };
  std::unique_ptr<std::byte[], Free> data_;
  std::size_t size_ = 0;
};

/// Owning tensor; moves, never copies silently (clone()).
class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(TensorType type) : type_(type), buffer_(static_cast<std::size_t>(type.bytes())) {}
  Tensor(DType dtype, Shape shape) : Tensor(TensorType{dtype, shape}) {}
  static Tensor zeros(TensorType type);
  template <typename T>
  static Tensor from(DType dtype, Shape shape, std::span<const T> values) {
    Tensor out(dtype, shape);
    DI_CHECK(static_cast<std::int64_t>(values.size()) == shape.num_elements(), "{} values for {}", values.size(),
             to_string(out.type_));
    std::copy(values.begin(), values.end(), out.template as<T>());
    return out;
  }

  const TensorType& type() const { return type_; }
  const Shape& shape() const { return type_.shape; }
  void* data() const { return buffer_.data(); }
  template <typename T>
  T* as() const {
    return ref().template as<T>();
  }
  template <typename T>
  std::span<T> span() const {
    return {as<T>(), static_cast<std::size_t>(type_.num_elements())};
  }
  TensorRef ref() const { return {type_, buffer_.data()}; }
  Tensor clone() const;

 private:
  TensorType type_;
  Buffer buffer_;
};

}  // namespace deepinfer
