#include <algorithm>
#include <array>
#include <cmath>

#include "ops/hc_mixes/hc_mixes_kernels.h"
#include "ops/isa/isa.h"
#include "ops/pieces.h"
#include "tensor/numeric/exp32.h"
#include "tensor/numeric/transcendental.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops {
namespace {

using numeric::kHcChunk;
constexpr std::int64_t kTokenTile = 16;  // fp32 chunk rows of a tile: 32 KiB for 4 streams, the first-level cache

struct Sizes {
  std::int64_t tokens;
  std::int64_t streams;
  std::int64_t hidden;
  std::int64_t rows;  // (2 + S) S

  Sizes(const ConstTensorRef& x, const ConstTensorRef& fn)
      : tokens(x.type.shape[0]), streams(x.type.shape[1]), hidden(x.type.shape[2]), rows(fn.type.shape[0]) {}
  std::int64_t chunks() const { return numeric::hc_num_chunks(hidden); }
  std::int64_t results() const { return rows + 1; }  // the dots and the sum of squares
  std::int64_t buffer() const { return (1 + std::min(kTokenTile, tokens)) * streams * kHcChunk; }
};

/// Widens columns [first, first + width) of every stream of one token into out, stream-major.
void gather_chunk(const BF16* token, const Sizes& z, std::int64_t first, std::int64_t width, float* out) {
  for (std::int64_t s = 0; s < z.streams; ++s) {
    const BF16* x = token + s * z.hidden + first;
    for (std::int64_t i = 0; i < width; ++i) out[s * width + i] = to_float(x[i]);
  }
}

/// The operands of the dots.
struct Dots {
  const isa::Kernels& isa;
  const BF16* x;
  const float* fn;
};

/// One chunk of every dot and of the sum of squares: partial[t, rows + 1]. A fn chunk is read once per token tile, and
/// V16 is symmetric in its operands, so the token rows take the place of the weight rows.
void chunk_dots(const Dots& in, const Sizes& z, std::int64_t chunk, float* buffer, float* partial) {
  const isa::Kernels& isa = in.isa;
  const std::int64_t first = chunk * kHcChunk;
  const std::int64_t width = numeric::hc_chunk_width(z.hidden, chunk);
  const std::int64_t n = z.streams * width;
  float* fn_row = buffer;
  float* x = buffer + z.streams * kHcChunk;
  std::array<float, kTokenTile> dots;
  for (std::int64_t begin = 0; begin < z.tokens; begin += kTokenTile) {
    const std::int64_t count = std::min(kTokenTile, z.tokens - begin);
    float* out = partial + begin * z.results();
    for (std::int64_t t = 0; t < count; ++t) {
      gather_chunk(in.x + (begin + t) * z.streams * z.hidden, z, first, width, x + t * n);
      isa.rows_f32(x + t * n, x + t * n, n, 1, n, out + t * z.results() + z.rows);
    }
    for (std::int64_t r = 0; r < z.rows; ++r) {
      for (std::int64_t s = 0; s < z.streams; ++s) {
        std::copy_n(in.fn + (r * z.streams + s) * z.hidden + first, width, fn_row + s * width);
      }
      isa.rows_f32(fn_row, x, n, count, n, dots.data());
      for (std::int64_t t = 0; t < count; ++t) out[t * z.results() + r] = dots[static_cast<std::size_t>(t)];
    }
  }
}

void normalise_rows(float* c, std::int64_t n, float eps) {
  for (std::int64_t j = 0; j < n; ++j) {
    float sum = 0;
    for (std::int64_t k = 0; k < n; ++k) sum += c[j * n + k];
    for (std::int64_t k = 0; k < n; ++k) c[j * n + k] /= sum + eps;
  }
}

void normalise_columns(float* c, std::int64_t n, float eps) {
  for (std::int64_t k = 0; k < n; ++k) {
    float sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += c[j * n + k];
    for (std::int64_t j = 0; j < n; ++j) c[j * n + k] /= sum + eps;
  }
}

void softmax_row(float* row, std::int64_t n, float eps) {
  const float largest = *std::max_element(row, row + n);
  float sum = 0;
  for (std::int64_t k = 0; k < n; ++k) {
    row[k] = numeric::exp32(row[k] - largest);
    sum += row[k];
  }
  for (std::int64_t k = 0; k < n; ++k) row[k] = row[k] / sum + eps;
}

void sinkhorn(float* c, std::int64_t n, std::int64_t iters, float eps) {
  for (std::int64_t j = 0; j < n; ++j) softmax_row(c + j * n, n, eps);
  normalise_columns(c, n, eps);
  for (std::int64_t i = 1; i < iters; ++i) {
    normalise_rows(c, n, eps);
    normalise_columns(c, n, eps);
  }
}

/// Adds the chunks of token t in ascending order and applies the norm: m[rows].
void add_chunks(const Sizes& z, float norm_eps, const float* partial, std::int64_t t, float* m) {
  const auto sum = [&](std::int64_t r) {
    float acc = 0;
    for (std::int64_t c = 0; c < z.chunks(); ++c) acc += partial[(c * z.tokens + t) * z.results() + r];
    return acc;
  };
  const float r = 1.0F / std::sqrt(sum(z.rows) / static_cast<float>(z.streams * z.hidden) + norm_eps);
  for (std::int64_t row = 0; row < z.rows; ++row) m[row] = sum(row) * r;
}

/// Splits the projections of token t into its three coefficients.
void finish_token(const graph::OpCall& call, const Sizes& z, const float* m, std::int64_t t) {
  const std::int64_t n = z.streams;
  const float* scale = call.in[2].as<float>();
  const float* base = call.in[3].as<float>();
  const auto logit = [&](std::int64_t row, int part) { return m[row] * scale[part] + base[row]; };
  const auto eps = static_cast<float>(call.attrs.real("eps"));
  for (std::int64_t j = 0; j < n; ++j) {
    call.out[0].as<float>()[t * n + j] = numeric::sigmoid_f64(logit(j, 0)) + eps;
    call.out[1].as<float>()[t * n + j] = 2.0F * numeric::sigmoid_f64(logit(n + j, 1));
  }
  float* comb = call.out[2].as<float>() + t * n * n;
  for (std::int64_t i = 0; i < n * n; ++i) comb[i] = logit(2 * n + i, 2);
  sinkhorn(comb, n, call.attrs.integer("iters"), eps);
}

}  // namespace

void hc_projections(const ConstTensorRef& streams, const ConstTensorRef& fn, double norm_eps,
                    const graph::KernelContext& ctx, float* m) {
  const Sizes z(streams, fn);
  const Dots dots{*ctx.isa, streams.as<BF16>(), fn.as<float>()};
  float* partial = ctx.scratch->take<float>(z.chunks() * z.tokens * z.results());
  float* buffers = ctx.scratch->take<float>(num_pieces(ctx) * z.buffer());
  for_pieces(ctx, z.chunks(), [&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
    for (std::int64_t c = begin; c < end; ++c) {
      chunk_dots(dots, z, c, buffers + piece * z.buffer(), partial + c * z.tokens * z.results());
    }
  });
  ctx.pool->parallel_for(z.tokens, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      add_chunks(z, static_cast<float>(norm_eps), partial, t, m + t * z.rows);
    }
  });
}

void hc_mixes_host(const graph::OpCall& call) {
  const Sizes z(call.in[0], call.in[1]);
  float* m = call.ctx.scratch->take<float>(z.tokens * z.rows);
  hc_projections(call.in[0], call.in[1], call.attrs.real("norm_eps"), call.ctx, m);
  call.ctx.pool->parallel_for(z.tokens, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) finish_token(call, z, m + t * z.rows, t);
  });
}

}  // namespace deepinfer::ops
