#include <algorithm>
#include <array>

#include "ops/isa/isa.h"
#include "ops/swiglu/swiglu_kernels.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kTile = 256;

// Written so that NaN passes: a comparison with NaN is false.
float clamp_above(float x, float limit) { return limit > 0 && x > limit ? limit : x; }
float clamp_below(float x, float limit) { return limit > 0 && x < -limit ? -limit : x; }

/// At most kTile elements.
void swiglu_tile(const isa::Kernels& isa, std::span<const BF16> gate, const BF16* up, float limit, const float* weight,
                 BF16* out) {
  std::array<float, kTile> g;
  std::array<float, kTile> e;
  for (std::size_t i = 0; i < gate.size(); ++i) {
    g[i] = clamp_above(to_float(gate[i]), limit);
    e[i] = -g[i];
  }
  isa.exp32(e.data(), static_cast<std::int64_t>(gate.size()));
  for (std::size_t i = 0; i < gate.size(); ++i) {
    const float u = clamp_below(clamp_above(to_float(up[i]), limit), limit);
    const float a = (g[i] / (1.0F + e[i])) * u;
    out[i] = to_bf16(weight != nullptr ? a * *weight : a);
  }
}

}  // namespace

void swiglu_row(const isa::Kernels& isa, std::span<const BF16> gate, std::span<const BF16> up, float limit,
                const float* weight, BF16* out) {
  for (std::size_t first = 0; first < gate.size(); first += kTile) {
    const std::size_t n = std::min(gate.size() - first, std::size_t{kTile});
    swiglu_tile(isa, gate.subspan(first, n), up.data() + first, limit, weight, out + first);
  }
}

void swiglu_host(const graph::OpCall& call) {
  const std::int64_t width = call.out[0].type.shape[1];
  const std::int64_t tiles = (width + kTile - 1) / kTile;
  const auto limit = static_cast<float>(call.attrs.real("limit"));
  const BF16* gate = call.in[0].as<BF16>();
  const BF16* up = call.in[1].as<BF16>();
  const float* weights = call.in.size() == 3 ? call.in[2].as<float>() : nullptr;
  BF16* out = call.out[0].as<BF16>();
  call.ctx.pool->parallel_for(call.out[0].type.shape[0] * tiles, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t task = begin; task < end; ++task) {
      const std::int64_t first = task % tiles * kTile;
      const std::int64_t offset = task / tiles * width + first;
      const auto n = static_cast<std::size_t>(std::min(kTile, width - first));
      swiglu_tile(*call.ctx.isa, {gate + offset, n}, up + offset, limit,
                  weights != nullptr ? weights + task / tiles : nullptr, out + offset);
    }
  });
}

}  // namespace deepinfer::ops
