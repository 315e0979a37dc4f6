#include <algorithm>
#include <array>

#include "ops/hc_collapse/hc_collapse_kernels.h"
#include "ops/isa/isa.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kTile = 512;  // columns of one task: two fp32 rows of 2 KiB stay in the first-level cache

/// Columns of one token: x is stream 0 at the first column, streams are `hidden` apart.
void collapse_tile(const isa::Kernels& isa, const BF16* x, const Shape& shape, const float* mix, std::span<BF16> out) {
  const auto n = static_cast<std::int64_t>(out.size());
  std::array<float, kTile> acc;
  std::array<float, kTile> row;
  for (std::size_t i = 0; i < out.size(); ++i) acc[i] = mix[0] * to_float(x[i]);
  for (std::int64_t j = 1; j < shape[1]; ++j) {
    for (std::int64_t i = 0; i < n; ++i) row[static_cast<std::size_t>(i)] = to_float(x[j * shape[2] + i]);
    isa.axpy(mix[j], row.data(), acc.data(), n);
  }
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = to_bf16(acc[i]);
}

}  // namespace

void hc_collapse_host(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t hidden = shape[2];
  const std::int64_t tiles = (hidden + kTile - 1) / kTile;
  const BF16* streams = call.in[0].as<BF16>();
  const float* mix = call.in[1].as<float>();
  BF16* out = call.out[0].as<BF16>();
  call.ctx.pool->parallel_for(shape[0] * tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t t = task / tiles;
      const std::int64_t first = task % tiles * kTile;
      const auto width = static_cast<std::size_t>(std::min(kTile, hidden - first));
      collapse_tile(*call.ctx.isa, streams + t * shape[1] * hidden + first, shape, mix + t * shape[1],
                    {out + t * hidden + first, width});
    }
  });
}

}  // namespace deepinfer::ops
