#include "kv/cache_layout.h"

#include <numeric>

#include "base/check.h"

namespace deepinfer::kv {
namespace {

std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

// Appends a view at `end` and moves `end` past it, padded to 32 bytes.
void append(std::vector<CacheView>& views, CacheView view, std::int64_t& end) {
  view.base = end;
  end = round_up(end + view.rows * view.row_bytes, 32);
  views.push_back(view);
}

}  // namespace

std::string_view cache_kind_name(CacheKind kind) {
  static constexpr std::string_view kNames[] = {"swa", "ca", "ica", "ca_state"};
  return kNames[static_cast<std::size_t>(kind)];
}

CacheLayout::CacheLayout(const checkpoint::ModelConfig& config, const CacheParams& params) : params_(params) {
  const std::int64_t ca_bytes = config.head_dim / 2 + config.head_dim / 16;
  const std::int64_t ica_bytes = config.index_head_dim / 2 + config.index_head_dim / 32;
  const std::int64_t swa_bytes = config.head_dim + config.head_dim / 32;
  for (const std::int64_t owner : config.kv_source_layer_ids) {
    const std::int64_t rows = params.block_size / config.ratio(owner);
    append(ica_, {Root::kBlocks, CacheKind::kIca, owner, 0, rows, ica_bytes}, bytes_per_block_);
    append(ca_, {Root::kBlocks, CacheKind::kCa, owner, 0, rows, ca_bytes}, bytes_per_block_);
  }
  bytes_per_block_ = round_up(std::max<std::int64_t>(bytes_per_block_, 1), std::lcm(std::int64_t{128}, ca_bytes));
  for (std::int64_t layer = 0; layer < config.num_layers_with_drafts(); ++layer) {
    append(swa_, {Root::kStates, CacheKind::kSwa, layer, 0, config.sliding_window + params.backtracking, swa_bytes},
           bytes_per_state_);
  }
  for (const std::int64_t owner : config.kv_source_layer_ids) {
    const std::int64_t ratio = config.ratio(owner);
    if (ratio < 2) continue;
    const std::int64_t rows = ratio + std::max<std::int64_t>(0, params.backtracking - 1);
    append(ca_state_, {Root::kStates, CacheKind::kCaState, owner, 0, rows, 8 * config.head_dim}, bytes_per_state_);
  }
  bytes_per_state_ = round_up(bytes_per_state_, std::lcm(std::int64_t{32}, swa_bytes));
}

const CacheView& CacheLayout::find(const std::vector<CacheView>& views, std::int64_t owner) {
  for (const CacheView& view : views) {
    if (view.owner == owner) return view;
  }
  DI_CHECK(false, "layer {} owns no such cache", owner);
}

}  // namespace deepinfer::kv
