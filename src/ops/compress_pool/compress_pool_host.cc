#include <algorithm>
#include <cmath>
#include <cstring>

#include "ops/compress_pool/compress_pool_kernels.h"
#include "ops/isa/isa.h"

namespace deepinfer::ops {
namespace {

/// The ring records of a root. Byte offsets need not be aligned to floats, so records are moved by memcpy.
class Ring {
 public:
  Ring(const TensorRef& root, const graph::Attrs& attrs, std::int64_t width)
      : root_(root), base_(attrs.integer("base")), rows_(attrs.integer("rows")), width_(width) {}

  void load(std::int64_t slot, std::int64_t pos, float* gate, float* kv) const {
    const std::uint8_t* record = address(slot, pos);
    std::memcpy(gate, record, half());
    std::memcpy(kv, record + half(), half());
  }
  void store(std::int64_t slot, std::int64_t pos, const float* gate, const float* kv) const {
    std::uint8_t* record = address(slot, pos);
    std::memcpy(record, gate, half());
    std::memcpy(record + half(), kv, half());
  }

 private:
  std::size_t half() const { return static_cast<std::size_t>(width_) * sizeof(float); }
  std::uint8_t* address(std::int64_t slot, std::int64_t pos) const {
    const Shape& shape = root_.type.shape;
    DI_CHECK(slot >= 0 && slot < shape[0] && pos >= 0 && pos < rows_, "ring record ({}, {}) of ({}, {})", slot, pos,
             shape[0], rows_);
    return root_.as<std::uint8_t>() + slot * shape[1] + base_ + pos * 8 * width_;
  }
  TensorRef root_;
  std::int64_t base_, rows_, width_;
};

/// (gate, kv) of one token, [width] each.
struct PairHalf {
  const float* gate;
  const float* kv;
};

/// latent[width]; e0 and e1 are temporaries [width].
void pool_pair(const isa::Kernels& isa, const PairHalf& a, const PairHalf& b, std::span<float> temporaries,
               BF16* latent) {
  const std::size_t width = temporaries.size() / 2;
  float* e0 = temporaries.data();
  float* e1 = e0 + width;
  for (std::size_t c = 0; c < width; ++c) {
    const float m = std::max(a.gate[c], b.gate[c]);
    e0[c] = a.gate[c] - m;
    e1[c] = b.gate[c] - m;
  }
  isa.exp32(e0, static_cast<std::int64_t>(2 * width));
  for (std::size_t c = 0; c < width; ++c) {
    const float sum = e0[c] + e1[c];
    const float w0 = e0[c] / sum;
    const float w1 = e1[c] / sum;
    latent[c] = to_bf16(std::fma(w1, b.kv[c], w0 * a.kv[c]));
  }
}

/// Stores token rows row[i] at (slot[i], pos[i]), in this order.
void store_rows(const graph::OpCall& call, const Ring& ring, std::size_t first_operand) {
  const std::int64_t width = call.in[0].type.shape[1];
  const ConstTensorRef& rows = call.in[first_operand];
  for (std::int64_t i = 0; i < rows.type.shape[0]; ++i) {
    const std::int64_t row = rows.as<std::int32_t>()[i];
    DI_CHECK(row >= 0 && row < call.in[0].type.shape[0], "token row {} of {}", row, call.in[0].type.shape[0]);
    ring.store(call.in[first_operand + 1].as<std::int32_t>()[i], call.in[first_operand + 2].as<std::int32_t>()[i],
               call.in[1].as<float>() + row * width, call.in[0].as<float>() + row * width);
  }
}

}  // namespace

void compress_pool_host(const graph::OpCall& call) {
  const std::int64_t tokens = call.in[0].type.shape[0];
  const std::int64_t width = call.in[0].type.shape[1];
  const float* kv = call.in[0].as<float>();
  const float* gate = call.in[1].as<float>();
  const std::int32_t* slot = call.in[3].as<std::int32_t>();
  const std::int32_t* odd = call.in[6].as<std::int32_t>();
  BF16* latent = call.out[0].as<BF16>();
  const Ring ring(call.out[1], call.attrs, width);
  float* work = call.ctx.scratch->take<float>(tokens * 4 * width);
  for (std::int64_t t = 0; t < tokens; ++t) {
    ring.store(slot[t], call.in[4].as<std::int32_t>()[t], gate + t * width, kv + t * width);
  }
  call.ctx.pool->parallel_for(tokens, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      if (odd[t] == 0) {
        std::fill_n(latent + t * width, width, BF16{});
        continue;
      }
      float* previous = work + t * 4 * width;
      ring.load(slot[t], call.in[5].as<std::int32_t>()[t], previous, previous + width);
      pool_pair(*call.ctx.isa, {previous, previous + width}, {gate + t * width, kv + t * width},
                {previous + 2 * width, static_cast<std::size_t>(2 * width)}, latent + t * width);
    }
  });
}

void compress_pool_varlen_host(const graph::OpCall& call) {
  const std::int64_t tokens = call.in[0].type.shape[0];
  const std::int64_t width = call.in[0].type.shape[1];
  const std::int64_t history = call.in[3].type.shape[0];
  const std::int64_t pairs = call.out[0].type.shape[0];
  const Ring ring(call.out[1], call.attrs, width);
  float* past = call.ctx.scratch->take<float>(history * 2 * width);  // [history][gate, kv]
  float* work = call.ctx.scratch->take<float>(pairs * 2 * width);
  for (std::int64_t i = 0; i < history; ++i) {
    ring.load(call.in[3].as<std::int32_t>()[i], call.in[4].as<std::int32_t>()[i], past + 2 * i * width,
              past + (2 * i + 1) * width);
  }
  const auto half = [&](std::int64_t row) -> PairHalf {
    DI_CHECK(row >= 0 && row < history + tokens, "row {} of {} + {}", row, history, tokens);
    if (row < history) return {past + 2 * row * width, past + (2 * row + 1) * width};
    const std::int64_t at = (row - history) * width;
    return {call.in[1].as<float>() + at, call.in[0].as<float>() + at};
  };
  call.ctx.pool->parallel_for(pairs, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      pool_pair(*call.ctx.isa, half(call.in[5].as<std::int32_t>()[i]), half(call.in[6].as<std::int32_t>()[i]),
                {work + i * 2 * width, static_cast<std::size_t>(2 * width)}, call.out[0].as<BF16>() + i * width);
    }
  });
  store_rows(call, ring, 7);
}

void compress_store_host(const graph::OpCall& call) {
  store_rows(call, Ring(call.out[0], call.attrs, call.in[0].type.shape[1]), 3);
}

}  // namespace deepinfer::ops
