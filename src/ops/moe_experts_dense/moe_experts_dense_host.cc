#include <algorithm>
#include <array>

#include "ops/isa/isa.h"
#include "ops/moe_experts_dense/moe_experts_dense_kernels.h"
#include "ops/swiglu/swiglu_kernels.h"
#include "tensor/numeric/quantise.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kBlock = 32;  // rows of a task: one quantisation block of the intermediate row
using BlockRow = std::array<BF16, kBlock>;

struct Matrix {
  const ConstTensorRef& w;
  const ConstTensorRef& scale;
  std::int64_t k;

  /// Rows [row, row + 32) of expert e times one quantised vector.
  BlockRow rows(const isa::Kernels& isa, std::int64_t e, std::int64_t row, const std::uint8_t* x,
                const std::uint8_t* xs) const {
    const std::uint8_t* codes = w.slice<std::uint8_t>(e) + row * (k / 2);
    const std::uint8_t* scales = scale.slice<std::uint8_t>(e) + row * (k / kBlock);
    std::array<float, kBlock> sums;
    isa.rows_e2m1(x, xs, codes, scales, k, kBlock, sums.data());
    BlockRow out;
    std::transform(sums.begin(), sums.end(), out.begin(), to_bf16);
    return out;
  }
};

/// The (expert, token) pairs with a weight, in ascending expert and then token order.
struct Pairs {
  std::int64_t num_active = 0;     // experts with at least one token
  std::int64_t* expert = nullptr;  // [num_active]
  std::int64_t* begin = nullptr;   // [num_active + 1]: first pair of each
  std::int64_t* token = nullptr;   // [pairs]
  std::uint8_t* codes = nullptr;   // [pairs, I]: quantised SwiGLU product
  std::uint8_t* scales = nullptr;  // [pairs, I / 32]
};

Pairs find_pairs(const graph::OpCall& call) {
  const std::int64_t tokens = call.in[2].type.shape[0];
  const std::int64_t experts = call.in[2].type.shape[1];
  const float* w = call.in[2].as<float>();
  const auto count = static_cast<std::int64_t>(std::count_if(w, w + tokens * experts, [](float x) { return x != 0; }));
  graph::Scratch& scratch = *call.ctx.scratch;
  Pairs pairs;
  pairs.expert = scratch.take<std::int64_t>(experts);
  pairs.begin = scratch.take<std::int64_t>(experts + 1);
  pairs.token = scratch.take<std::int64_t>(count);
  const std::int64_t width = call.in[3].type.shape[1];
  pairs.codes = scratch.take<std::uint8_t>(count * width);
  pairs.scales = scratch.take<std::uint8_t>(count * width / kBlock);
  std::int64_t next = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    const std::int64_t first = next;
    for (std::int64_t t = 0; t < tokens; ++t) {
      if (w[t * experts + e] != 0) pairs.token[next++] = t;
    }
    if (next == first) continue;
    pairs.expert[pairs.num_active] = e;
    pairs.begin[pairs.num_active++] = first;
  }
  pairs.begin[pairs.num_active] = next;
  return pairs;
}

/// Block `block` of 32 intermediate values for every token of active expert `active`. The weights of the block are read
/// once and stay in the cache for all its tokens.
void intermediate_block(const graph::OpCall& call, const Pairs& pairs, std::int64_t active, std::int64_t block) {
  const std::int64_t hidden = call.in[0].type.shape[1];
  const std::int64_t width = call.in[3].type.shape[1];
  const std::int64_t e = pairs.expert[active];
  const Matrix w1{call.in[3], call.in[4], hidden};
  const Matrix w3{call.in[5], call.in[6], hidden};
  const auto limit = static_cast<float>(call.attrs.real("limit"));
  const auto max = static_cast<float>(call.attrs.real("max"));
  for (std::int64_t p = pairs.begin[active]; p < pairs.begin[active + 1]; ++p) {
    const std::int64_t t = pairs.token[p];
    const std::uint8_t* x = call.in[0].as<std::uint8_t>() + t * hidden;
    const std::uint8_t* xs = call.in[1].as<std::uint8_t>() + t * (hidden / kBlock);
    const BlockRow gate = w1.rows(*call.ctx.isa, e, block * kBlock, x, xs);
    const BlockRow up = w3.rows(*call.ctx.isa, e, block * kBlock, x, xs);
    BlockRow a;
    const float* weight = call.in[2].as<float>() + t * call.in[2].type.shape[1] + e;
    swiglu_row(*call.ctx.isa, gate, up, limit, weight, a.data());
    numeric::act_quant32(std::span<const BF16>(a), max, pairs.codes + p * width + block * kBlock,
                         pairs.scales + p * (width / kBlock) + block);
  }
}

/// Output columns [column, column + 32) of all tokens: experts ascending, so every sum runs in ascending expert id.
void output_block(const graph::OpCall& call, const Pairs& pairs, std::int64_t column) {
  const std::int64_t hidden = call.out[0].type.shape[1];
  const std::int64_t width = call.in[3].type.shape[1];
  const Matrix w2{call.in[7], call.in[8], width};
  float* out = call.out[0].as<float>() + column;
  for (std::int64_t t = 0; t < call.out[0].type.shape[0]; ++t) std::fill_n(out + t * hidden, kBlock, 0.0F);
  for (std::int64_t active = 0; active < pairs.num_active; ++active) {
    for (std::int64_t p = pairs.begin[active]; p < pairs.begin[active + 1]; ++p) {
      const BlockRow y = w2.rows(*call.ctx.isa, pairs.expert[active], column, pairs.codes + p * width,
                                 pairs.scales + p * (width / kBlock));
      float* row = out + pairs.token[p] * hidden;
      for (std::size_t i = 0; i < y.size(); ++i) row[i] += to_float(y[i]);
    }
  }
}

}  // namespace

void moe_experts_dense_host(const graph::OpCall& call) {
  const Pairs pairs = find_pairs(call);
  const std::int64_t blocks = call.in[3].type.shape[1] / kBlock;
  call.ctx.pool->parallel_for(pairs.num_active * blocks, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) intermediate_block(call, pairs, i / blocks, i % blocks);
  });
  call.ctx.pool->parallel_for(call.out[0].type.shape[1] / kBlock, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) output_block(call, pairs, i * kBlock);
  });
}

}  // namespace deepinfer::ops
