#include "checkpoint/checkpoint.h"

#include "base/check.h"

namespace deepinfer::checkpoint {

const WeightView* Checkpoint::find(std::string_view official_name) const {
  const auto at = views_.find(official_name);
  return at == views_.end() ? nullptr : &at->second;
}

const WeightView& Checkpoint::weight(std::string_view official_name) const {
  const WeightView* view = find(official_name);
  DI_CHECK(view != nullptr, "{} is not bound", official_name);
  return *view;
}

ScaledWeight Checkpoint::scaled(const std::string& module) const {
  return {weight(module + ".weight"), weight(module + ".scale")};
}

std::int64_t Checkpoint::owned_bytes() const {
  std::size_t total = 0;
  for (const Buffer& buffer : owned_) total += buffer.size();
  return static_cast<std::int64_t>(total);
}

void Checkpoint::bind(const WeightSpec& spec, const std::byte* data) {
  const TensorType type{spec.dtype(), Shape(std::span<const std::int64_t>(spec.shape))};
  views_.emplace(spec.name, WeightView{spec.name, type, data});
  ++report_.tensors_bound;
  report_.bytes_bound += type.bytes();
  if (spec.residency == Residency::kResident) report_.resident_bytes += type.bytes();
}

}  // namespace deepinfer::checkpoint
