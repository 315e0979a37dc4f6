// Hands out blocks and state slots: all or nothing, lowest free id first. Source: engine.md 5.1.
#pragma once

#include <cstdint>
#include <set>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::kv {

/// Block 0 and slot 0 are reserved; block `num_blocks` is the scratch block past the pool. None is ever handed out.
class BlockManager {
 public:
  BlockManager(std::int64_t num_blocks, std::int64_t num_state_slots);

  bool can_allocate(std::int64_t num_blocks) const { return num_blocks <= static_cast<std::int64_t>(blocks_.size()); }
  /// Appends `count` blocks to `table`. Errors: kResourceExhausted with both numbers; nothing is taken then.
  Status allocate(std::int64_t count, std::vector<std::int32_t>& table);
  Result<std::int32_t> allocate_slot();
  void free_blocks(std::vector<std::int32_t>& table);
  void free_slot(std::int32_t slot);

  std::int64_t num_free_blocks() const { return static_cast<std::int64_t>(blocks_.size()); }
  std::int64_t num_free_slots() const { return static_cast<std::int64_t>(slots_.size()); }
  std::int32_t scratch_block() const { return scratch_block_; }

 private:
  std::set<std::int32_t> blocks_;
  std::set<std::int32_t> slots_;
  std::int32_t scratch_block_;
};

}  // namespace deepinfer::kv
