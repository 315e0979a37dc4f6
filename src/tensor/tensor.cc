#include "tensor/tensor.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace deepinfer {

Shape::Shape(std::span<const std::int64_t> extents) : rank_(static_cast<int>(extents.size())) {
  DI_CHECK(extents.size() <= kMaxRank, "rank {}", extents.size());
  std::copy(extents.begin(), extents.end(), extents_.begin());
}

std::int64_t Shape::num_elements() const { return inner(0); }

std::int64_t Shape::inner(int axis) const {
  std::int64_t product = 1;
  for (int i = axis; i < rank_; ++i) product *= extents_[static_cast<std::size_t>(i)];
  return product;
}

std::string to_string(const TensorType& type) {
  return fmt::format("{}[{}]", dtype_name(type.dtype), fmt::join(type.shape.extents(), ","));
}

Buffer::Buffer(std::size_t bytes) : size_(bytes) {
  constexpr std::size_t kAlign = 64;
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + kAlign - 1) / kAlign * kAlign;
  data_.reset(static_cast<std::byte*>(::operator new[](rounded, std::align_val_t{kAlign})));
#ifndef NDEBUG
  std::memset(data_.get(), 0xFB, rounded);
#endif
}

void Buffer::Free::operator()(std::byte* pointer) const { ::operator delete[](pointer, std::align_val_t{64}); }

Tensor Tensor::zeros(TensorType type) {
  Tensor out(type);
  std::memset(out.data(), 0, static_cast<std::size_t>(type.bytes()));
  return out;
}

Tensor Tensor::clone() const {
  Tensor out(type_);
  std::memcpy(out.data(), data(), static_cast<std::size_t>(type_.bytes()));
  return out;
}

}  // namespace deepinfer
