#include "ops/sparse_attn/sparse_attn.h"

#include "graph/eager_emitter.h"
#include "ops/testing/op_tester.h"
#include "tensor/numeric/exp32.h"
#include "tensor/numeric/quantise.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops::testing {
namespace {

constexpr std::uint8_t kPoison = 0xFF;  // NaN code and NaN scale in both record kinds

Tensor window_records(Inputs& inputs, std::int64_t rows, std::int64_t width) {
  const Tensor x = inputs.bf16({rows, width});
  Tensor out(DType::kU8, {rows, width + width / 32});
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint8_t* record = out.as<std::uint8_t>() + r * out.shape()[1];
    numeric::act_quant32(x.span<BF16>().subspan(r * width, width), 448, record, record + width);
  }
  return out;
}

Tensor selected_records(Inputs& inputs, std::int64_t rows, std::int64_t width) {
  const Tensor x = inputs.bf16({rows, width});
  Tensor out(DType::kU8, {rows, width / 2 + width / 16});
  for (std::int64_t r = 0; r < rows; ++r) {
    std::uint8_t* record = out.as<std::uint8_t>() + r * out.shape()[1];
    numeric::fp4_quant16(x.span<BF16>().subspan(r * width, width), record, record + width / 2);
  }
  return out;
}

Tensor ints(Shape shape, std::vector<std::int32_t> values) {
  return Tensor::from<std::int32_t>(DType::kS32, shape, values);
}

struct Scene {
  std::int64_t heads, width, window, most_selected;
  bool front = false;
  Tensor q, rows, wcount, selected, scount, sink;

  std::vector<const Tensor*> operands() const { return {&q, &rows, &wcount, &selected, &scount, &sink}; }
  graph::Attrs attrs() const {
    return {{"scale", 1 / std::sqrt(double(width))},
            {"window", window},
            {"holes", graph::Word{front ? "front" : "end"}}};
  }
  std::uint8_t* window_record(std::int64_t t, std::int64_t i) const {
    return rows.as<std::uint8_t>() + (t * window + i) * rows.shape()[1];
  }
  std::uint8_t* selected_record(std::int64_t t, std::int64_t j) const {
    return selected.as<std::uint8_t>() + (t * most_selected + j) * selected.shape()[1];
  }
};

Scene make_scene(Inputs& inputs, std::array<std::int64_t, 4> sizes, std::vector<std::int32_t> wcount,
                 std::vector<std::int32_t> scount) {
  const auto [heads, width, window, most_selected] = sizes;
  const auto tokens = static_cast<std::int64_t>(wcount.size());
  Scene s{heads, width, window, most_selected};
  s.q = inputs.bf16({tokens, heads, width});
  s.rows = window_records(inputs, tokens * window, width);
  s.wcount = ints({tokens}, std::move(wcount));
  s.selected = selected_records(inputs, tokens * most_selected, width);
  s.scount = ints({tokens}, std::move(scount));
  s.sink = inputs.f32({heads});
  return s;
}

/// The joint list of token t: a decoded row or an empty vector for a hole.
std::vector<std::vector<float>> joint_list(const Scene& s, std::int64_t t) {
  std::vector<std::vector<float>> list;
  const std::int64_t valid = s.wcount.as<std::int32_t>()[t];
  for (std::int64_t i = 0; i < s.window; ++i) {
    list.emplace_back();
    if (s.front ? i < s.window - valid : i >= valid) continue;
    list.back().resize(s.width);
    numeric::decode_act32(s.window_record(t, i), s.window_record(t, i) + s.width, s.width, list.back().data());
  }
  for (std::int64_t j = 0; j < s.scount.as<std::int32_t>()[t]; ++j) {
    list.emplace_back(s.width);
    numeric::decode_fp4_16(s.selected_record(t, j), s.selected_record(t, j) + s.width / 2, s.width,
                           list.back().data());
  }
  return list;
}

/// numerics.md 7 for one head, entry by entry.
std::vector<BF16> defined_bits(const BF16* q, const std::vector<std::vector<float>>& list, float scale, float sink) {
  const std::size_t width = list[0].empty() ? list.back().size() : list[0].size();
  std::vector<float> o(width);
  float m = -1e30F;
  float l = 0;
  for (std::size_t begin = 0; begin < list.size(); begin += 64) {
    const std::size_t end = std::min(begin + 64, list.size());
    std::vector<float> p(end - begin);
    float top = m;
    for (std::size_t i = begin; i < end; ++i) {
      if (list[i].empty()) continue;
      p[i - begin] = scale * numeric::v16_dot<numeric::ColumnMap::kBf16>(
                                 width, [&](std::int64_t c) { return to_float(q[c]); },
                                 [&](std::int64_t c) { return list[i][c]; });
      top = std::max(top, p[i - begin]);
    }
    const float alpha = numeric::exp32(m - top);
    m = top;
    for (std::size_t i = begin; i < end; ++i) p[i - begin] = list[i].empty() ? 0 : numeric::exp32(p[i - begin] - m);
    l = std::fma(l, alpha, numeric::sum8(p.data(), p.size()));
    for (std::size_t c = 0; c < width; ++c) {
      o[c] *= alpha;
      for (std::size_t i = begin; i < end; ++i) {
        if (!list[i].empty()) o[c] = std::fma(round_bf16(p[i - begin]), list[i][c], o[c]);
      }
    }
  }
  l += numeric::exp32(sink - m);
  std::vector<BF16> out;
  for (const float value : o) out.push_back(to_bf16(value / l));
  return out;
}

void expect_defined_bits(const Scene& s, const Tensor& out) {
  for (std::int64_t t = 0; t < s.q.shape()[0]; ++t) {
    const auto list = joint_list(s, t);
    for (std::int64_t h = 0; h < s.heads; ++h) {
      const std::int64_t at = (t * s.heads + h) * s.width;
      const auto expected =
          defined_bits(s.q.as<BF16>() + at, list, float(1 / std::sqrt(double(s.width))), s.sink.as<float>()[h]);
      for (std::size_t c = 0; c < expected.size(); ++c) {
        ASSERT_EQ(out.as<BF16>()[at + c], expected[c]) << "token " << t << " head " << h << " channel " << c;
      }
    }
  }
}

float largest(const Tensor& x) {
  float most = 0;
  for (const BF16 value : x.span<BF16>()) most = std::max(most, std::abs(to_float(value)));
  return most;
}

TEST(SparseAttn, HasTheDefinedBitsForAllCounts) {
  Inputs inputs("sparse_attn.counts");
  for (const bool front : {false, true}) {
    Scene s = make_scene(inputs, {3, 64, 128, 70}, {0, 1, 63, 64, 65, 127, 128, 128}, {1, 0, 5, 64, 65, 70, 0, 70});
    s.front = front;
    const auto out = run(sparse_attn_def, s.operands(), s.attrs());
    expect_defined_bits(s, out[0]);
    const auto exact = truth(sparse_attn_def, s.operands(), s.attrs());
    EXPECT_LE(worst_excess(out[0], exact[0], 0x1p-8 * largest(out[0]), 0x1p-8), 0);
  }
}

TEST(SparseAttn, CutsBlocksOverTheJointList) {
  Inputs inputs("sparse_attn.joint");
  for (const std::int64_t width : {32, 96, 512}) {
    const Scene s = make_scene(inputs, {2, width, 8, 130}, {8, 3, 5}, {130, 56, 57});
    expect_defined_bits(s, run(sparse_attn_def, s.operands(), s.attrs())[0]);
  }
}

TEST(SparseAttn, NoSelectedRowsEqualsZeroCounts) {
  Inputs inputs("sparse_attn.window");
  const Scene s = make_scene(inputs, {4, 64, 8, 4}, {3, 8}, {0, 0});
  const auto with = run(sparse_attn_def, s.operands(), s.attrs());
  const auto without = run(sparse_attn_def, {&s.q, &s.rows, &s.wcount, &s.sink}, s.attrs());
  EXPECT_EQ(std::memcmp(with[0].data(), without[0].data(), with[0].type().bytes()), 0);
}

TEST(SparseAttn, GarbageBeyondTheCountsDoesNotMatter) {
  Inputs inputs("sparse_attn.garbage");
  for (const bool front : {false, true}) {
    Scene s = make_scene(inputs, {2, 64, 16, 80}, {0, 5, 16}, {80, 7, 0});
    s.front = front;
    const auto clean = run(sparse_attn_def, s.operands(), s.attrs());
    for (std::int64_t t = 0; t < 3; ++t) {
      const std::int64_t valid = s.wcount.as<std::int32_t>()[t];
      for (std::int64_t i = 0; i < s.window; ++i) {
        const bool hole = front ? i < s.window - valid : i >= valid;
        if (hole) std::memset(s.window_record(t, i), kPoison, s.rows.shape()[1]);
      }
      for (std::int64_t j = s.scount.as<std::int32_t>()[t]; j < s.most_selected; ++j) {
        std::memset(s.selected_record(t, j), kPoison, s.selected.shape()[1]);
      }
    }
    const auto poisoned = run(sparse_attn_def, s.operands(), s.attrs());
    EXPECT_EQ(std::memcmp(clean[0].data(), poisoned[0].data(), clean[0].type().bytes()), 0);
    std::memset(s.window_record(2, 0), kPoison, s.rows.shape()[1]);  // a valid row: must be seen
    EXPECT_TRUE(std::isnan(to_float(run(sparse_attn_def, s.operands(), s.attrs())[0].as<BF16>()[2 * 2 * 64])));
  }
}

TEST(SparseAttn, SinkTakesItsShare) {
  Inputs inputs("sparse_attn.sink");
  Scene s = make_scene(inputs, {3, 64, 8, 8}, {8, 0}, {8, 0});
  s.sink = Tensor::from<float>(DType::kF32, {3}, std::vector{-1e30F, 80.0F, 1e4F});
  const auto out = run(sparse_attn_def, s.operands(), s.attrs());
  expect_defined_bits(s, out[0]);
  for (std::int64_t c = 0; c < 64; ++c) {
    EXPECT_LT(std::abs(to_float(out[0].as<BF16>()[64 + c])), 1e-20F);    // sink +80
    EXPECT_EQ(to_float(out[0].as<BF16>()[128 + c]), 0.0F);               // infinite denominator
    for (std::int64_t h = 0; h < 3; ++h) EXPECT_EQ(to_float(out[0].as<BF16>()[(3 + h) * 64 + c]), 0.0F);  // no rows
  }
}

TEST(SparseAttn, DuplicatedRowsGiveTheRow) {
  Inputs inputs("sparse_attn.duplicates");
  Scene s = make_scene(inputs, {1, 32, 70, 1}, {70}, {0});
  for (std::int64_t i = 1; i < 70; ++i) std::memcpy(s.window_record(0, i), s.window_record(0, 0), s.rows.shape()[1]);
  s.sink.as<float>()[0] = -1e30F;
  const auto out = run(sparse_attn_def, s.operands(), s.attrs());
  const auto row = joint_list(s, 0)[0];
  for (std::int64_t c = 0; c < 32; ++c) {
    EXPECT_NEAR(to_float(out[0].as<BF16>()[c]), row[c], std::abs(row[c]) * 0x1p-7F);
  }
}

TEST(SparseAttn, WideScoresStayFinite) {
  Inputs inputs("sparse_attn.sharp");
  Scene s = make_scene(inputs, {2, 64, 64, 80}, {64, 30}, {80, 40});
  for (BF16& value : s.q.span<BF16>()) value = to_bf16(to_float(value) * 80);
  const auto out = run(sparse_attn_def, s.operands(), s.attrs());
  expect_defined_bits(s, out[0]);
  const auto exact = truth(sparse_attn_def, s.operands(), s.attrs());
  EXPECT_LE(worst_excess(out[0], exact[0], 0x1p-8 * largest(out[0]), 0x1p-8), 0);
}

/// The varlen operands that address the rows of `s`: window rows in one shuffled buffer, selected rows in pages.
struct Varlen {
  Tensor buffer, index, root, table, seq, ids;
  graph::Attrs attrs;
};

Varlen scatter(const Scene& s, Inputs& inputs) {
  constexpr std::int64_t kPageRows = 4;
  constexpr std::int64_t kBase = 24;
  const std::int64_t tokens = s.q.shape()[0];
  const std::int64_t record = s.selected.shape()[1];
  const std::int64_t pages = (s.most_selected + kPageRows - 1) / kPageRows;
  Varlen v{Tensor(DType::kU8, {tokens * s.window, s.rows.shape()[1]}),
           ints({tokens, s.window}, std::vector<std::int32_t>(tokens * s.window, -7)),
           inputs.u8({tokens * pages + 3, kBase + kPageRows * record + 5}),
           Tensor(DType::kS32, {tokens, pages}),
           Tensor(DType::kS32, {tokens}),
           ints({tokens, s.most_selected}, std::vector<std::int32_t>(tokens * s.most_selected, -9)),
           s.attrs()};
  std::vector<std::int64_t> places(tokens * s.window);
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  std::shuffle(places.begin(), places.end(), inputs.rng());
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t valid = s.wcount.as<std::int32_t>()[t];
    for (std::int64_t i = 0; i < valid; ++i) {
      const std::int64_t place = places[t * s.window + i];
      v.index.as<std::int32_t>()[t * s.window + i] = place;
      std::memcpy(v.buffer.as<std::uint8_t>() + place * v.buffer.shape()[1],
                  s.window_record(t, s.front ? s.window - valid + i : i), v.buffer.shape()[1]);
    }
    const std::int64_t seq = tokens - 1 - t;
    v.seq.as<std::int32_t>()[t] = seq;
    for (std::int64_t p = 0; p < pages; ++p) v.table.as<std::int32_t>()[seq * pages + p] = 2 + p * tokens + seq;
    for (std::int64_t j = 0; j < s.scount.as<std::int32_t>()[t]; ++j) {
      v.ids.as<std::int32_t>()[t * s.most_selected + j] = j;
      const std::int64_t slot = 2 + j / kPageRows * tokens + seq;
      std::memcpy(v.root.as<std::uint8_t>() + slot * v.root.shape()[1] + kBase + j % kPageRows * record,
                  s.selected_record(t, j), record);
    }
  }
  v.attrs.set("base", kBase);
  v.attrs.set("rows", kPageRows);
  v.attrs.set("row_bytes", record);
  return v;
}

TEST(SparseAttnVarlen, EqualsTheDecodeForm) {
  Inputs inputs("sparse_attn.varlen");
  for (const bool front : {false, true}) {
    Scene s = make_scene(inputs, {2, 64, 16, 70}, {0, 5, 16, 16}, {70, 7, 0, 69});
    s.front = front;
    const Varlen v = scatter(s, inputs);
    const auto decode = run(sparse_attn_def, s.operands(), s.attrs());
    const std::vector<const Tensor*> in{&s.q,     &v.buffer, &v.index, &s.wcount, &v.root,
                                        &v.table, &v.seq,    &v.ids,   &s.scount, &s.sink};
    const auto varlen = run(sparse_attn_varlen_def, in, v.attrs);
    EXPECT_EQ(std::memcmp(decode[0].data(), varlen[0].data(), decode[0].type().bytes()), 0);
    const auto a = truth(sparse_attn_def, s.operands(), s.attrs());
    const auto b = truth(sparse_attn_varlen_def, in, v.attrs);
    EXPECT_EQ(std::memcmp(a[0].data(), b[0].data(), a[0].type().bytes()), 0);
    const auto window_only = run(sparse_attn_def, {&s.q, &s.rows, &s.wcount, &s.sink}, s.attrs());
    const auto window_varlen =
        run(sparse_attn_varlen_def, {&s.q, &v.buffer, &v.index, &s.wcount, &s.sink}, s.attrs());
    EXPECT_EQ(std::memcmp(window_only[0].data(), window_varlen[0].data(), window_only[0].type().bytes()), 0);
  }
}

TEST(SparseAttn, EmitFunctionsPassOperandsInOrder) {
  Inputs inputs("sparse_attn.emit");
  Scene s = make_scene(inputs, {2, 32, 8, 6}, {3, 8}, {6, 2});
  s.front = true;
  const Varlen v = scatter(s, inputs);
  base::ThreadPool pool(1);
  graph::Scratch scratch;
  const graph::Bindings bindings;
  graph::EagerEmitter e({&pool, &isa::scalar(), &scratch}, bindings);
  const SparseAttnAttrs attrs{1 / std::sqrt(32.0), 8, Holes::kFront};
  const auto expected = run(sparse_attn_def, s.operands(), s.attrs());
  const graph::Value q = e.constant(s.q);
  const graph::Value wcount = e.constant(s.wcount);
  const graph::Value scount = e.constant(s.scount);
  const graph::Value sink = e.constant(s.sink);
  const Tensor decode =
      e.copy(sparse_attn(e, {q, e.constant(s.rows), wcount, e.constant(s.selected), scount, sink}, attrs));
  const Tensor varlen = e.copy(sparse_attn_varlen(e,
                                                  {q, e.constant(v.buffer), e.constant(v.index), wcount,
                                                   e.constant(v.root), e.constant(v.table), e.constant(v.seq),
                                                   e.constant(v.ids), scount, sink},
                                                  attrs, {24, 4, s.selected.shape()[1]}));
  EXPECT_EQ(std::memcmp(decode.data(), expected[0].data(), decode.type().bytes()), 0);
  EXPECT_EQ(std::memcmp(varlen.data(), expected[0].data(), varlen.type().bytes()), 0);
}

TEST(SparseAttn, CountsAndAddressesAreChecked) {
  Inputs inputs("sparse_attn.checks");
  Scene s = make_scene(inputs, {1, 32, 4, 4}, {4}, {4});
  const auto throws = [&](const graph::OpDef& op, const std::vector<const Tensor*>& in, const graph::Attrs& attrs) {
    EXPECT_THROW(call(op, in, attrs, {}, false), CheckFailure);
  };
  for (const std::int32_t count : {-1, 5}) {
    s.wcount.as<std::int32_t>()[0] = count;
    throws(sparse_attn_def, s.operands(), s.attrs());
    s.wcount.as<std::int32_t>()[0] = 4;
    s.scount.as<std::int32_t>()[0] = count;
    throws(sparse_attn_def, s.operands(), s.attrs());
    s.scount.as<std::int32_t>()[0] = 4;
  }
  const Varlen v = scatter(s, inputs);
  const std::vector<const Tensor*> in{&s.q,     &v.buffer, &v.index, &s.wcount, &v.root,
                                      &v.table, &v.seq,    &v.ids,   &s.scount, &s.sink};
  EXPECT_NO_THROW(call(sparse_attn_varlen_def, in, v.attrs, {}, false));
  for (const Tensor* indices : {&v.index, &v.table, &v.seq, &v.ids}) {
    std::int32_t& entry = indices->as<std::int32_t>()[0];
    const std::int32_t good = entry;
    for (const std::int32_t bad : {-1, 1000}) {
      entry = bad;
      throws(sparse_attn_varlen_def, in, v.attrs);
    }
    entry = good;
  }
}

TEST(SparseAttn, RefusesWrongTypes) {
  Inputs inputs("sparse_attn.types");
  const Scene s = make_scene(inputs, {2, 64, 8, 8}, {8}, {8});
  const auto infer = [&](std::vector<TensorType> in, graph::Attrs given) {
    const auto attrs = graph::complete_attrs(sparse_attn_def.attrs, given);
    return attrs.has_value() && sparse_attn_def.infer(in, *attrs).has_value();
  };
  std::vector<TensorType> in;
  for (const Tensor* tensor : s.operands()) in.push_back(tensor->type());
  EXPECT_TRUE(infer(in, s.attrs()));
  EXPECT_FALSE(infer({in[0], in[1], in[2]}, s.attrs()));
  graph::Attrs odd = s.attrs();
  odd.set("holes", graph::Word{"middle"});
  EXPECT_FALSE(infer(in, odd));
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto wrong = in;
    wrong[i].dtype = DType::kF16;
    EXPECT_FALSE(infer(wrong, s.attrs())) << i;
  }
}

}  // namespace
}  // namespace deepinfer::ops::testing
