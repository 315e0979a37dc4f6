#include <algorithm>

#include "ops/isa/isa.h"
#include "ops/linear_blockquant/fold_scales.h"
#include "ops/linear_blockquant/linear_blockquant_kernels.h"
#include "ops/pieces.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/quantise.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kChunk = 32;  // weight rows per step: 32 x 5120 bytes stay in the L2 cache for all tokens

struct Problem {
  explicit Problem(const graph::OpCall& c)
      : call(c),
        num_tokens(c.in[0].type.shape[0]),
        k(c.in[0].type.shape[1]),
        n(c.in[2].type.shape[0]),
        kb(c.attrs.integer("kb")),
        nb(c.attrs.integer("nb")),
        codes(c.in[0].as<std::uint8_t>()),
        scales(c.in[1].as<std::uint8_t>()),
        w(c.in[2].as<std::uint8_t>()),
        ws(c.in[3].as<std::uint8_t>()) {}

  /// Stores `count` finished sums of token t from column `first` on.
  void store(std::int64_t t, std::int64_t first, std::int64_t count, const float* sums) const {
    const std::int64_t at = t * n + first;
    if (call.out[0].type.dtype == DType::kF32) {
      std::copy_n(sums, count, call.out[0].as<float>() + at);
    } else {
      BF16* out = call.out[0].as<BF16>() + at;
      for (std::int64_t i = 0; i < count; ++i) out[i] = to_bf16(sums[i]);
    }
  }

  const graph::OpCall& call;
  std::int64_t num_tokens, k, n, kb, nb;
  const std::uint8_t* codes;
  const std::uint8_t* scales;
  const std::uint8_t* w;
  const std::uint8_t* ws;
};

/// Calls fn(first, count) for runs of at most kChunk rows of [begin, end) that lie in one scale row block.
template <typename F>
void for_row_runs(std::int64_t begin, std::int64_t end, std::int64_t nb, const F& fn) {
  for (std::int64_t first = begin; first < end;) {
    const std::int64_t last = std::min({end, (first / nb + 1) * nb, first + kChunk});
    fn(first, last - first);
    first = last;
  }
}

/// Class A.
void rows_fp4(const Problem& p, std::int64_t begin, std::int64_t end) {
  const std::int64_t groups = p.k / 32;
  for (std::int64_t first = begin; first < end; first += kChunk) {
    const std::int64_t count = std::min(kChunk, end - first);
    for (std::int64_t t = 0; t < p.num_tokens; ++t) {
      float sums[kChunk];
      p.call.ctx.isa->rows_e2m1(p.codes + t * p.k, p.scales + t * groups, p.w + first * p.k / 2, p.ws + first * groups,
                                p.k, count, sums);
      p.store(t, first, count, sums);
    }
  }
}

/// Class B; x [T, K] holds the decoded activations, `folded` [K] is this piece's scratch.
void rows_fp8(const Problem& p, const float* x, float* folded, std::int64_t begin, std::int64_t end) {
  for_row_runs(begin, end, p.nb, [&](std::int64_t first, std::int64_t count) {
    for (std::int64_t t = 0; t < p.num_tokens; ++t) {
      float sums[kChunk];
      fold_scales(x + t * p.k, p.ws + first / p.nb * (p.k / p.kb), p.k, p.kb, folded);
      p.call.ctx.isa->rows_e4m3(folded, p.w + first * p.k, p.k, count, sums);
      p.store(t, first, count, sums);
    }
  });
}

/// One output in the reference's order: V16 inside each block of 32, then one chain of scaled partial sums.
float dot_reference_blocks(const Problem& p, std::int64_t t, std::int64_t row) {
  using numeric::decode_e4m3fn;
  float acc = 0;
  for (std::int64_t b = 0; b < p.k / 32; ++b) {
    const std::uint8_t* x = p.codes + t * p.k + b * 32;
    const std::uint8_t* w = p.w + row * p.k + b * 32;
    const float partial = numeric::v16_dot<numeric::ColumnMap::kE4M3>(
        32, [x](std::int64_t i) { return decode_e4m3fn(x[i]); }, [w](std::int64_t i) { return decode_e4m3fn(w[i]); });
    const float sx = numeric::decode_e8m0(p.scales[t * (p.k / 32) + b]);
    const float sw = numeric::decode_e8m0(p.ws[row / p.nb * (p.k / p.kb) + b * 32 / p.kb]);
    acc += (partial * sx) * sw;
  }
  return acc;
}

void fp8_reference_blocks(const Problem& p) {
  p.call.ctx.pool->parallel_for(p.n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = 0; t < p.num_tokens; ++t) {
      for (std::int64_t row = begin; row < end; ++row) {
        const float sum = dot_reference_blocks(p, t, row);
        p.store(t, row, 1, &sum);
      }
    }
  });
}

void fp8_v16(const Problem& p) {
  graph::KernelContext& ctx = p.call.ctx;
  auto* x = ctx.scratch->take<float>(p.num_tokens * p.k);
  auto* folded = ctx.scratch->take<float>(num_pieces(ctx) * p.k);
  ctx.pool->parallel_for(p.num_tokens, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      numeric::decode_act32(p.codes + t * p.k, p.scales + t * (p.k / 32), p.k, x + t * p.k);
    }
  });
  for_pieces(ctx, p.n, [&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
    rows_fp8(p, x, folded + piece * p.k, begin, end);
  });
}

}  // namespace

void linear_blockquant_host(const graph::OpCall& call) {
  const Problem p(call);
  if (call.attrs.word("wfmt") == "e2m1") {
    call.ctx.pool->parallel_for(p.n, kChunk,
                                [&p](std::int64_t begin, std::int64_t end) { rows_fp4(p, begin, end); });
  } else if (call.attrs.word("order") == "v16") {
    fp8_v16(p);
  } else {
    fp8_reference_blocks(p);
  }
}

}  // namespace deepinfer::ops
