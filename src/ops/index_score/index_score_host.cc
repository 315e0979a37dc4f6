#include <algorithm>
#include <array>
#include <bit>
#include <cmath>

#include "ops/index_score/index_score.h"
#include "ops/index_score/index_score_kernels.h"
#include "ops/isa/isa.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kPiece = 64;  // rows scored together: their sums stay in registers and L1
using Piece = std::array<float, kPiece>;

/// NaN stays visible: a comparison with NaN is false.
float relu(float x) { return x < 0.0F ? 0.0F : x; }

/// bf16(a * b + c) with one rounding. a and b have 8 significant bits, so a * b is exact in double; the fp32 sum is
/// rounded to odd (its last bit set when anything was lost), which makes the second rounding harmless.
float fma_bf16(float a, float b, float c) {
  const double product = double{a} * double{b};
  const double addend = double{c};
  const double sum = product + addend;
  const double shadow = sum - product;
  const double lost = (product - (sum - shadow)) + (addend - shadow);  // exact error of `sum`
  const auto rounded = static_cast<float>(sum);
  const double rest = (sum - double{rounded}) + lost;
  if (rest == 0.0 || rounded == 0.0F || !std::isfinite(rounded)) return round_bf16(rounded);
  auto bits = std::bit_cast<std::uint32_t>(rounded);
  if ((bits & 1U) == 0) bits += (rest > 0) == (rounded > 0) ? 1U : ~0U;
  return round_bf16(std::bit_cast<float>(bits));
}

/// sums[r] = term(dots[r], sums[r]) for the first n rows, in steps of eight so that the compiler emits vectors; the
/// rows up to the next multiple of eight are computed as well and never stored.
template <typename Term>
void add_rows(float* __restrict sums, const float* __restrict dots, std::int64_t n, const Term& term) {
  for (std::int64_t first = 0; first < n; first += 8) {
    for (std::int64_t r = first; r < first + 8; ++r) sums[r] = term(dots[r], sums[r]);
  }
}

// Each rule adds head h's dots to its partial sums and reduces them at the end.
struct Official {
  Piece sum{};
  void add(std::int64_t, float weight, const Piece& dots, std::int64_t n) {
    add_rows(sum.data(), dots.data(), n,
             [weight](float dot, float acc) { return acc + round_bf16(relu(round_bf16(dot)) * weight); });
  }
  float result(std::size_t r) const { return sum[r]; }  // the store rounds to bf16
};

struct Fp32 {
  std::array<Piece, 8> chains{};
  void add(std::int64_t head, float weight, const Piece& dots, std::int64_t n) {
    add_rows(chains[static_cast<std::size_t>(head % 8)].data(), dots.data(), n,
             [weight](float dot, float acc) { return acc + relu(dot) * weight; });
  }
  float result(std::size_t r) const {
    std::array<float, 8> t{};
    for (std::size_t i = 0; i < 8; ++i) t[i] = chains[i][r];
    return numeric::tree8(t.data());
  }
};

struct Bf16Fma4 {
  std::array<Piece, 4> chains{};
  void add(std::int64_t head, float weight, const Piece& dots, std::int64_t n) {
    add_rows(chains[static_cast<std::size_t>(head % 4)].data(), dots.data(), n,
             [weight](float dot, float acc) { return fma_bf16(round_bf16(relu(dot)), weight, acc); });
  }
  float result(std::size_t r) const {
    return round_bf16(chains[0][r] + chains[2][r]) + round_bf16(chains[1][r] + chains[3][r]);
  }
};

void store(float value, float* out) { *out = value; }
void store(float value, BF16* out) { *out = to_bf16(value); }

/// The call with its operands resolved.
struct Task {
  const graph::OpCall& call;
  IndexOperandPositions at;
  PagedRecords records;
  std::int64_t tokens, heads, width, table_width, num_rows;
  std::int8_t* q;  ///< [tokens, heads, width] doubled e2m1 values

  const std::int32_t* ints(int operand) const { return call.in[static_cast<std::size_t>(operand)].as<std::int32_t>(); }
  std::int64_t visible(std::int64_t t) const {
    const std::int64_t count = ints(at.visible)[t];
    DI_CHECK(count >= 0 && count <= num_rows, "{} visible rows of {}", count, num_rows);
    return count;
  }
  const std::int32_t* table(std::int64_t t) const {
    const std::int64_t tables = call.in[static_cast<std::size_t>(at.block_table)].type.shape[0];
    const std::int64_t row = at.seq < 0 ? t : ints(at.seq)[t];
    DI_CHECK(row >= 0 && row < tables, "table row {} of {}", row, tables);
    return ints(at.block_table) + row * table_width;
  }
};

void unpack_queries(const Task& task) {
  const std::uint8_t* packed = task.call.in[0].as<std::uint8_t>();
  const std::int64_t bytes = task.heads * task.width / 2;
  task.call.ctx.pool->parallel_for(task.tokens * bytes, 4096, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      task.q[2 * i] = numeric::kE2M1Doubled[packed[i] & 15U];
      task.q[2 * i + 1] = numeric::kE2M1Doubled[packed[i] >> 4];
    }
  });
}

/// Rows [first, first + n) of token t, all inside one page, n <= 64.
template <typename Rule, typename Out>
void score_piece(const Task& task, std::int64_t t, std::int64_t first, std::int64_t n) {
  const std::uint8_t* keys = task.records.record(task.table(t), first);
  const std::uint8_t* qs = task.call.in[1].as<std::uint8_t>() + t * task.heads * task.width / 32;
  const BF16* weights = task.call.in[static_cast<std::size_t>(task.at.weights)].as<BF16>() + t * task.heads;
  Rule rule;
  Piece dots{};
  for (std::int64_t h = 0; h < task.heads; ++h) {
    task.call.ctx.isa->index_dot(task.q + (t * task.heads + h) * task.width, qs + h * task.width / 32, keys,
                                 task.records.view().row_bytes, task.width, n, dots.data());
    rule.add(h, to_float(weights[h]), dots, n);
  }
  Out* out = task.call.out[0].as<Out>() + t * task.num_rows + first;
  for (std::int64_t r = 0; r < n; ++r) store(rule.result(static_cast<std::size_t>(r)), out + r);
}

/// Rows [first, last) of token t, cut at pages and at 64 rows.
template <typename Rule, typename Out>
void score_rows(const Task& task, std::int64_t t, std::int64_t first, std::int64_t last) {
  const std::int64_t page_rows = task.records.view().rows;
  while (first < last) {
    const std::int64_t n = std::min({last - first, page_rows - first % page_rows, kPiece});
    score_piece<Rule, Out>(task, t, first, n);
    first += n;
  }
}

template <typename Rule, typename Out>
void score_all(const Task& task) {
  const std::int64_t pieces = (task.num_rows + kPiece - 1) / kPiece;
  task.call.ctx.pool->parallel_for(task.tokens * pieces, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t first = i % pieces * kPiece;
      score_rows<Rule, Out>(task, i / pieces, first, std::min(first + kPiece, task.visible(i / pieces)));
    }
  });
}

template <typename Rule, typename Out>
void score_candidates(const Task& task) {
  const std::int64_t most = task.call.in[static_cast<std::size_t>(task.at.candidates)].type.shape[1];
  const std::int64_t block = task.call.attrs.integer("block");
  task.call.ctx.pool->parallel_for(task.tokens * most, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      const std::int64_t t = i / most;
      if (i % most >= task.ints(task.at.ccount)[t]) continue;
      const std::int64_t first = task.ints(task.at.candidates)[i] * block;
      DI_CHECK(first >= 0 && first < task.num_rows, "candidate block at row {} of {}", first, task.num_rows);
      score_rows<Rule, Out>(task, t, first, std::min(first + block, task.visible(t)));
    }
  });
}

template <typename Out>
void mask_all(const Task& task) {
  Out* out = task.call.out[0].as<Out>();
  Out masked;
  store(kMaskedScore, &masked);
  task.call.ctx.pool->parallel_for(task.tokens * task.num_rows, 4096, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin, out + end, masked);
  });
}

template <typename Rule, typename Out>
void score(const Task& task) {
  mask_all<Out>(task);
  unpack_queries(task);
  task.at.candidates < 0 ? score_all<Rule, Out>(task) : score_candidates<Rule, Out>(task);
}

void run(const graph::OpCall& call, const IndexOperandPositions& at) {
  const std::int64_t heads = call.attrs.integer("heads");
  const Shape& q = call.in[0].type.shape;
  const Task task{.call = call,
                  .at = at,
                  .records = {call.in[2], page_view(call.attrs)},
                  .tokens = q[0],
                  .heads = heads,
                  .width = q[1] * 2 / heads,
                  .table_width = call.in[static_cast<std::size_t>(at.block_table)].type.shape[1],
                  .num_rows = call.out[0].type.shape[1],
                  .q = call.ctx.scratch->take<std::int8_t>(q[0] * q[1] * 2)};
  const std::string& precision = call.attrs.word("precision");
  if (precision == "fp32") return score<Fp32, float>(task);
  if (precision == "bf16_fma4") return score<Bf16Fma4, BF16>(task);
  score<Official, BF16>(task);
}

}  // namespace

void index_score_host(const graph::OpCall& call) { run(call, index_positions(call.in.size(), false)); }
void index_score_varlen_host(const graph::OpCall& call) { run(call, index_positions(call.in.size(), true)); }

}  // namespace deepinfer::ops
