#include <algorithm>

#include "ops/index_score/index_score_kernels.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {
namespace {

struct Packed {
  const std::uint8_t* codes;
  const std::uint8_t* scales;
};

double value(const Packed& vector, std::int64_t i) {
  return double{numeric::decode_packed_e2m1(vector.codes, i)} * double{numeric::decode_e8m0(vector.scales[i / 32])};
}

bool is_candidate(const graph::OpCall& call, const IndexOperandPositions& at, std::int64_t t, std::int64_t row) {
  if (at.candidates < 0) return true;
  const ConstTensorRef& candidates = call.in[static_cast<std::size_t>(at.candidates)];
  const std::int32_t* first = candidates.as<std::int32_t>() + t * candidates.type.shape[1];
  const std::int64_t count = call.in[static_cast<std::size_t>(at.ccount)].as<std::int32_t>()[t];
  return std::find(first, first + count, row / call.attrs.integer("block")) != first + count;
}

double score(const graph::OpCall& call, const IndexOperandPositions& at, std::int64_t t, const Packed& key) {
  const std::int64_t heads = call.attrs.integer("heads");
  const std::int64_t width = call.in[0].type.shape[1] * 2 / heads;
  double sum = 0;
  for (std::int64_t h = 0; h < heads; ++h) {
    const Packed query{call.in[0].as<std::uint8_t>() + (t * heads + h) * width / 2,
                       call.in[1].as<std::uint8_t>() + (t * heads + h) * width / 32};
    double dot = 0;
    for (std::int64_t i = 0; i < width; ++i) dot += value(query, i) * value(key, i);
    const BF16 weight = call.in[static_cast<std::size_t>(at.weights)].as<BF16>()[t * heads + h];
    sum += std::max(dot, 0.0) * double{to_float(weight)};
  }
  return sum;
}

void reference(const graph::OpCall& call, const IndexOperandPositions& at) {
  const Shape& shape = call.out[0].type.shape;
  const ConstTensorRef& tables = call.in[static_cast<std::size_t>(at.block_table)];
  const std::int64_t rows = call.attrs.integer("rows");
  const std::int64_t width = call.in[0].type.shape[1] * 2 / call.attrs.integer("heads");
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    const std::int64_t visible = call.in[static_cast<std::size_t>(at.visible)].as<std::int32_t>()[t];
    const std::int64_t table = at.seq < 0 ? t : call.in[static_cast<std::size_t>(at.seq)].as<std::int32_t>()[t];
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      double& out = call.out[0].as<double>()[t * shape[1] + j];
      out = -1e30;
      if (j >= visible || !is_candidate(call, at, t, j)) continue;
      const std::int64_t slot = tables.as<std::int32_t>()[table * tables.type.shape[1] + j / rows];
      const std::uint8_t* key = call.in[2].as<std::uint8_t>() + slot * call.in[2].type.shape[1] +
                                call.attrs.integer("base") + j % rows * call.attrs.integer("row_bytes");
      out = score(call, at, t, {key, key + width / 2});
    }
  }
}

}  // namespace

void index_score_reference(const graph::OpCall& call) { reference(call, index_positions(call.in.size(), false)); }
void index_score_varlen_reference(const graph::OpCall& call) { reference(call, index_positions(call.in.size(), true)); }

}  // namespace deepinfer::ops
