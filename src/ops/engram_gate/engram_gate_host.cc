#include <algorithm>
#include <cmath>

#include "ops/engram_gate/engram_gate_kernels.h"
#include "ops/isa/isa.h"
#include "ops/pieces.h"
#include "tensor/numeric/transcendental.h"

namespace deepinfer::ops {
namespace {

/// Row = one stream of one token; buffer holds 2 * hidden floats.
void apply_row(const graph::OpCall& call, std::int64_t row, float* buffer) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t hidden = shape[2];
  const std::int64_t t = row / shape[1];
  const std::int64_t j = row % shape[1];
  const BF16* h = call.in[0].as<BF16>() + row * hidden;
  BF16* out = call.out[0].as<BF16>() + row * hidden;
  if (call.in[4].as<std::int32_t>()[t] == 0) {
    std::copy_n(h, hidden, out);
    return;
  }
  const BF16* kv = call.in[1].as<BF16>() + t * (shape[1] + 1) * hidden;
  const BF16* value = kv + shape[1] * hidden;
  const BF16* wq = call.in[2].as<BF16>() + j * hidden;
  const BF16* wk = call.in[3].as<BF16>() + j * hidden;
  const StreamGate site{h, kv + j * hidden, wq, wk, hidden, buffer, buffer + hidden};
  const float gate = site.gate(*call.ctx.isa, static_cast<float>(call.attrs.real("eps")),
                               static_cast<float>(call.attrs.real("clamp")));
  for (std::int64_t d = 0; d < hidden; ++d) out[d] = to_bf16(to_float(h[d]) + gate * to_float(value[d]));
}

}  // namespace

float StreamGate::gate(const isa::Kernels& isa, float eps, float clamp) const {
  for (std::int64_t d = 0; d < hidden; ++d) {
    h_row[d] = to_float(h[d]);
    key_row[d] = to_float(key[d]);
  }
  const auto rstd = [&](const float* row) {
    float sum = 0;
    isa.rows_f32_bf16map(row, row, hidden, 1, hidden, &sum);
    return 1.0F / std::sqrt(sum / static_cast<float>(hidden) + eps);
  };
  const float scale = rstd(h_row) * rstd(key_row);
  for (std::int64_t d = 0; d < hidden; ++d) h_row[d] *= to_float(wq[d]) * to_float(wk[d]);
  float dot = 0;
  isa.rows_f32_bf16map(h_row, key_row, hidden, 1, hidden, &dot);
  dot = (dot * scale) * static_cast<float>(1.0 / std::sqrt(static_cast<double>(hidden)));
  return numeric::sigmoid_f64(std::copysign(std::sqrt(std::max(std::abs(dot), clamp)), dot));
}

void engram_gate_host(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t hidden = shape[2];
  float* buffers = call.ctx.scratch->take<float>(num_pieces(call.ctx) * 2 * hidden);
  for_pieces(call.ctx, shape[0] * shape[1], [&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
    float* buffer = buffers + piece * 2 * hidden;
    for (std::int64_t row = begin; row < end; ++row) apply_row(call, row, buffer);
  });
}

}  // namespace deepinfer::ops
