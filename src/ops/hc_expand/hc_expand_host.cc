#include <algorithm>
#include <array>

#include "ops/hc_expand/hc_expand_kernels.h"
#include "ops/isa/isa.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kTile = 512;  // columns of one task: two fp32 rows of 2 KiB stay in the first-level cache

/// Columns [first, first + width) of output stream k of token t.
void expand_tile(const graph::OpCall& call, std::int64_t t, std::int64_t k, std::int64_t first, std::int64_t width) {
  const Shape& shape = call.in[1].type.shape;
  const std::int64_t streams = shape[1];
  const std::int64_t hidden = shape[2];
  const BF16* y = call.in[0].as<BF16>() + t * hidden + first;
  const BF16* x = call.in[1].as<BF16>() + t * streams * hidden + first;
  const float post = call.in[2].as<float>()[t * streams + k];
  const float* comb = call.in[3].as<float>() + t * streams * streams;
  const auto n = static_cast<std::size_t>(width);
  std::array<float, kTile> acc;
  std::array<float, kTile> row;
  for (std::size_t i = 0; i < n; ++i) acc[i] = post * to_float(y[i]);
  for (std::int64_t j = 0; j < streams; ++j) {
    for (std::size_t i = 0; i < n; ++i) row[i] = to_float(x[i]);
    call.ctx.isa->axpy(comb[j * streams + k], row.data(), acc.data(), width);
    x += hidden;
  }
  BF16* out = call.out[0].as<BF16>() + (t * streams + k) * hidden + first;
  for (std::size_t i = 0; i < n; ++i) out[i] = to_bf16(acc[i]);
}

}  // namespace

void hc_expand_host(const graph::OpCall& call) {
  const Shape& shape = call.in[1].type.shape;
  const std::int64_t tiles = (shape[2] + kTile - 1) / kTile;
  call.ctx.pool->parallel_for(shape[0] * tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task % tiles * kTile;
      const std::int64_t width = std::min(kTile, shape[2] - first);
      for (std::int64_t k = 0; k < shape[1]; ++k) expand_tile(call, task / tiles, k, first, width);
    }
  });
}

}  // namespace deepinfer::ops
