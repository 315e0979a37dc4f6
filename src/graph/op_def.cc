#include "graph/op_def.h"

#include <algorithm>

#include "base/error.h"

namespace deepinfer::graph {

void Scratch::reset() {
  chunk_ = 0;
  used_ = 0;
}

void* Scratch::take_bytes(std::size_t bytes) {
  constexpr std::size_t kMinChunk = std::size_t{1} << 16;
  bytes = (bytes + 63) / 64 * 64;
  while (chunk_ < chunks_.size() && used_ + bytes > chunks_[chunk_].size()) {
    ++chunk_;
    used_ = 0;
  }
  if (chunk_ == chunks_.size()) {
    const std::size_t last = chunks_.empty() ? 0 : chunks_.back().size();
    chunks_.emplace_back(std::max({bytes, kMinChunk, 2 * last}));
    ++num_allocations_;
  }
  void* out = chunks_[chunk_].data() + used_;
  used_ += bytes;
  return out;
}

OpRegistry::OpRegistry(std::vector<const OpDef*> ops) : ops_(std::move(ops)) {
  std::sort(ops_.begin(), ops_.end(), [](const OpDef* a, const OpDef* b) { return a->name < b->name; });
  for (std::size_t i = 1; i < ops_.size(); ++i) {
    DI_CHECK(ops_[i - 1]->name != ops_[i]->name, "op {} is listed twice", ops_[i]->name);
  }
}

const OpDef* OpRegistry::find(std::string_view name) const {
  const auto it = std::lower_bound(ops_.begin(), ops_.end(), name,
                                   [](const OpDef* op, std::string_view wanted) { return op->name < wanted; });
  return it != ops_.end() && (*it)->name == name ? *it : nullptr;
}

Status expect_operands(std::span<const TensorType> operands, std::size_t least, std::size_t most) {
  if (operands.size() >= least && operands.size() <= most) return {};
  return errorf(ErrorCode::kInvalidArgument, "{} operands, expected {} to {}", operands.size(), least, most);
}

Status expect_type(std::string_view name, const TensorType& found, const TensorType& expected) {
  if (found == expected) return {};
  return errorf(ErrorCode::kInvalidArgument, "operand {} is {}, expected {}", name, deepinfer::to_string(found),
                deepinfer::to_string(expected));
}

Status expect(bool condition, std::string_view text) {
  if (condition) return {};
  return make_error(ErrorCode::kInvalidArgument, std::string(text));
}

}  // namespace deepinfer::graph
