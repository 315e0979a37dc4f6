// Where every cached record lies: two roots (paged blocks and per-sequence states) and one view per (layer, kind).
//
// A layer never owns memory; it owns a `CacheView` into a root. Records are the vendor's: data bytes then scale bytes
// (288 / 68 / 528 bytes for the released shape). The two roots of the released model are 114,048 bytes a block of 128
// tokens and 3,128,928 bytes a state slot. Source: graph.md 4, engine.md 4.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "checkpoint/config.h"
#include "tensor/tensor.h"

namespace deepinfer::kv {

enum class CacheKind : std::uint8_t {
  kSwa,      ///< window ring: e4m3 codes + ue8m0 scales per 32
  kCa,       ///< compressed rows: e2m1 codes + e4m3 scales per 16
  kIca,      ///< index keys: e2m1 codes + ue8m0 scales per 32
  kCaState,  ///< pending (gate, kv) rows of a ratio-2 compressor, f32
};
std::string_view cache_kind_name(CacheKind kind);  ///< "swa", "ca", "ica", "ca_state"

enum class Root : std::uint8_t { kBlocks, kStates };

/// Record (i, j) lies in root row i at byte base + j * row_bytes, 0 <= j < rows.
struct CacheView {
  Root root = Root::kBlocks;
  CacheKind kind = CacheKind::kSwa;
  std::int64_t owner = 0;  ///< layer whose records these are; draft stage s is num_hidden_layers + s
  std::int64_t base = 0;
  std::int64_t rows = 0;  ///< records in one root row
  std::int64_t row_bytes = 0;
};

/// Sizes chosen by the engine.
struct CacheParams {
  std::int64_t block_size = 128;     ///< tokens of one block
  std::int64_t backtracking = 6;     ///< rows of one sequence that a step may take back; num_drafts + 1
  std::int64_t num_blocks = 64;      ///< block 0 is reserved; block num_blocks is the scratch block past the pool
  std::int64_t num_state_slots = 2;  ///< slot 0 is the dummy slot of padding tokens
};

class CacheLayout {
 public:
  CacheLayout(const checkpoint::ModelConfig& config, const CacheParams& params);

  const CacheParams& params() const { return params_; }
  const CacheView& swa(std::int64_t layer) const { return swa_[static_cast<std::size_t>(layer)]; }
  const CacheView& ca(std::int64_t owner) const { return find(ca_, owner); }
  const CacheView& ica(std::int64_t owner) const { return find(ica_, owner); }
  const CacheView& ca_state(std::int64_t owner) const { return find(ca_state_, owner); }

  std::int64_t bytes_per_block() const { return bytes_per_block_; }
  std::int64_t bytes_per_state() const { return bytes_per_state_; }
  TensorType blocks_type() const { return {DType::kU8, {params_.num_blocks + 1, bytes_per_block_}}; }
  TensorType states_type() const { return {DType::kU8, {params_.num_state_slots, bytes_per_state_}}; }
  /// Most tokens of one sequence that one decode step may hold (graph.md 4.3: store before gather).
  std::int64_t max_rows_per_step() const { return params_.backtracking; }

 private:
  static const CacheView& find(const std::vector<CacheView>& views, std::int64_t owner);

  CacheParams params_;
  std::vector<CacheView> swa_;
  std::vector<CacheView> ca_;
  std::vector<CacheView> ica_;
  std::vector<CacheView> ca_state_;
  std::int64_t bytes_per_block_ = 0;
  std::int64_t bytes_per_state_ = 0;
};

}  // namespace deepinfer::kv
