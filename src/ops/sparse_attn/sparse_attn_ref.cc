#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/sparse_attn/sparse_attn_kernels.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {
namespace {

using Row = std::vector<double>;

Row window_row(const std::uint8_t* record, std::int64_t width) {
  Row row;
  for (std::int64_t c = 0; c < width; ++c) {
    row.push_back(double{numeric::decode_e4m3fn(record[c])} * double{numeric::decode_e8m0(record[width + c / 32])});
  }
  return row;
}

Row selected_row(const std::uint8_t* record, std::int64_t width) {
  Row row;
  for (std::int64_t c = 0; c < width; ++c) {
    row.push_back(double{numeric::decode_packed_e2m1(record, c)} *
                  double{numeric::decode_e4m3fn(record[width / 2 + c / 16])});
  }
  return row;
}

/// Softmax over the rows and the sink of one head.
void attend_one(const BF16* q, const std::vector<Row>& rows, double scale, double sink, std::span<double> out) {
  std::vector<double> logits;
  double top = sink;
  for (const Row& row : rows) {
    double dot = 0;
    for (std::size_t c = 0; c < row.size(); ++c) dot += double{to_float(q[c])} * row[c];
    logits.push_back(dot * scale);
    top = std::max(top, logits.back());
  }
  double total = std::exp(sink - top);
  std::fill(out.begin(), out.end(), 0.0);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double p = std::exp(logits[i] - top);
    total += p;
    for (std::size_t c = 0; c < out.size(); ++c) out[c] += p * rows[i][c];
  }
  for (double& value : out) value /= total;
}

void attend_token(const graph::OpCall& call, std::int64_t t, const std::vector<Row>& rows) {
  const Shape& shape = call.out[0].type.shape;
  for (std::int64_t h = 0; h < shape[1]; ++h) {
    const std::int64_t at = (t * shape[1] + h) * shape[2];
    attend_one(call.in[0].as<BF16>() + at, rows, call.attrs.real("scale"), double{call.in.back().as<float>()[h]},
               {call.out[0].as<double>() + at, static_cast<std::size_t>(shape[2])});
  }
}

}  // namespace

void sparse_attn_reference(const graph::OpCall& call) {
  const Shape& shape = call.out[0].type.shape;
  const std::int64_t window = call.attrs.integer("window");
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    std::vector<Row> rows;
    const std::int64_t wcount = call.in[2].as<std::int32_t>()[t];
    for (std::int64_t i = 0; i < wcount; ++i) {
      const std::int64_t entry = call.attrs.word("holes") == "front" ? window - wcount + i : i;
      rows.push_back(window_row(call.in[1].as<std::uint8_t>() + (t * window + entry) * call.in[1].type.shape[1],
                                shape[2]));
    }
    if (call.in.size() == 6) {
      const Shape& selected = call.in[3].type.shape;
      for (std::int64_t j = 0; j < call.in[4].as<std::int32_t>()[t]; ++j) {
        rows.push_back(selected_row(
            call.in[3].as<std::uint8_t>() + (t * (selected[0] / shape[0]) + j) * selected[1], shape[2]));
      }
    }
    attend_token(call, t, rows);
  }
}

void sparse_attn_varlen_reference(const graph::OpCall& call) {
  const Shape& shape = call.out[0].type.shape;
  const std::int64_t window = call.attrs.integer("window");
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    std::vector<Row> rows;
    for (std::int64_t i = 0; i < call.in[3].as<std::int32_t>()[t]; ++i) {
      const std::int64_t row = call.in[2].as<std::int32_t>()[t * window + i];
      rows.push_back(window_row(call.in[1].as<std::uint8_t>() + row * call.in[1].type.shape[1], shape[2]));
    }
    if (call.in.size() == 10) {
      const std::int64_t page_rows = call.attrs.integer("rows");
      const std::int64_t seq = call.in[6].as<std::int32_t>()[t];
      for (std::int64_t j = 0; j < call.in[8].as<std::int32_t>()[t]; ++j) {
        const std::int64_t id = call.in[7].as<std::int32_t>()[t * call.in[7].type.shape[1] + j];
        const std::int64_t slot = call.in[5].as<std::int32_t>()[seq * call.in[5].type.shape[1] + id / page_rows];
        rows.push_back(selected_row(call.in[4].as<std::uint8_t>() + slot * call.in[4].type.shape[1] +
                                        call.attrs.integer("base") + id % page_rows * call.attrs.integer("row_bytes"),
                                    shape[2]));
      }
    }
    attend_token(call, t, rows);
  }
}

}  // namespace deepinfer::ops
