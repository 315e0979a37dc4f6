#include <algorithm>

#include "ops/grouped_einsum/grouped_einsum_kernels.h"
#include "ops/isa/isa.h"
#include "ops/linear_blockquant/fold_scales.h"
#include "ops/pieces.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kChunk = 32;  // weight rows per step, and the usual scale block

/// Rows [first, first + count) lie in one group and in one scale row block; x [T, G, Kg] is widened.
void row_run(const graph::OpCall& call, const float* x, float* folded, std::int64_t first, std::int64_t count) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t k = shape[2];
  const std::int64_t num_rows = call.in[1].type.shape[0];
  const std::int64_t group = first / (num_rows / shape[1]);
  const std::int64_t kb = call.attrs.integer("kb");
  const std::uint8_t* scales =
      call.in[2].as<std::uint8_t>() + first / call.attrs.integer("nb") * call.in[2].type.shape[1];
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    float sums[kChunk];
    fold_scales(x + (t * shape[1] + group) * k, scales, k, kb, folded);
    call.ctx.isa->rows_e4m3(folded, call.in[1].as<std::uint8_t>() + first * k, k, count, sums);
    BF16* out = call.out[0].as<BF16>() + t * num_rows + first;
    for (std::int64_t i = 0; i < count; ++i) out[i] = to_bf16(sums[i]);
  }
}

}  // namespace

void grouped_einsum_host(const graph::OpCall& call) {
  const std::int64_t k = call.in[0].type.shape[2];
  const std::int64_t num_rows = call.in[1].type.shape[0];
  const std::int64_t group_rows = call.out[0].type.shape[2];
  const std::int64_t nb = call.attrs.integer("nb");
  const std::int64_t count = call.in[0].type.num_elements();
  auto* x = call.ctx.scratch->take<float>(count);
  auto* folded = call.ctx.scratch->take<float>(num_pieces(call.ctx) * k);
  for (std::int64_t i = 0; i < count; ++i) x[i] = to_float(call.in[0].as<BF16>()[i]);
  for_pieces(call.ctx, num_rows, [&](std::int64_t piece, std::int64_t begin, std::int64_t end) {
    for (std::int64_t first = begin; first < end;) {
      const std::int64_t last = std::min({end, (first / nb + 1) * nb, (first / group_rows + 1) * group_rows,
                                          first + kChunk});
      row_run(call, x, folded + piece * k, first, last - first);
      first = last;
    }
  });
}

}  // namespace deepinfer::ops
