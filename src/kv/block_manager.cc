#include "kv/block_manager.h"

#include "base/check.h"
#include "base/error.h"

namespace deepinfer::kv {

BlockManager::BlockManager(std::int64_t num_blocks, std::int64_t num_state_slots)
    : scratch_block_(static_cast<std::int32_t>(num_blocks)) {
  for (std::int32_t i = 1; i < num_blocks; ++i) blocks_.insert(i);
  for (std::int32_t i = 1; i < num_state_slots; ++i) slots_.insert(i);
}

Status BlockManager::allocate(std::int64_t count, std::vector<std::int32_t>& table) {
  if (!can_allocate(count)) {
    return errorf(ErrorCode::kResourceExhausted, "{} cache blocks wanted, {} of {} are free", count, blocks_.size(),
                  scratch_block_ - 1);
  }
  for (std::int64_t i = 0; i < count; ++i) {
    table.push_back(*blocks_.begin());
    blocks_.erase(blocks_.begin());
  }
  return {};
}

Result<std::int32_t> BlockManager::allocate_slot() {
  if (slots_.empty()) return errorf(ErrorCode::kResourceExhausted, "all state slots are in use");
  const std::int32_t slot = *slots_.begin();
  slots_.erase(slots_.begin());
  return slot;
}

void BlockManager::free_blocks(std::vector<std::int32_t>& table) {
  for (const std::int32_t block : table) {
    DI_CHECK(block > 0 && block < scratch_block_ && blocks_.insert(block).second, "block {} freed twice", block);
  }
  table.clear();
}

void BlockManager::free_slot(std::int32_t slot) {
  DI_CHECK(slot > 0 && slots_.insert(slot).second, "slot {} freed twice", slot);
}

}  // namespace deepinfer::kv
