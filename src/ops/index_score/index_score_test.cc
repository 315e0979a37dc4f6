#include "ops/index_score/index_score.h"

#include "graph/eager_emitter.h"
#include "ops/testing/op_tester.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops::testing {
namespace {

struct Scene {
  std::int64_t heads, width, page_rows, pages;
  Tensor q, qs, root, table, weights, visible;

  std::int64_t row_bytes() const { return width / 2 + width / 32; }
  std::vector<const Tensor*> operands() const { return {&q, &qs, &root, &table, &weights, &visible}; }
  graph::Attrs attrs(std::string_view precision, std::int64_t block = 8) const {
    return {{"heads", heads},
            {"base", std::int64_t{12}},
            {"rows", page_rows},
            {"row_bytes", row_bytes()},
            {"precision", graph::Word{std::string(precision)}},
            {"block", block}};
  }
  std::uint8_t* key(std::int64_t t, std::int64_t j) const {
    const std::int64_t slot = table.as<std::int32_t>()[t * pages + j / page_rows];
    return root.as<std::uint8_t>() + slot * root.shape()[1] + 12 + j % page_rows * row_bytes();
  }
};

Scene make_scene(Inputs& inputs, std::array<std::int64_t, 4> sizes, std::vector<std::int32_t> visible) {
  const auto [heads, width, page_rows, pages] = sizes;
  const auto tokens = static_cast<std::int64_t>(visible.size());
  Scene s{heads, width, page_rows, pages};
  s.q = inputs.u8({tokens, heads * width / 2});
  s.qs = inputs.u8({tokens, heads * width / 32}, 120, 130);
  s.root = inputs.u8({tokens * pages, 12 + page_rows * s.row_bytes() + 3});
  s.table = Tensor(DType::kS32, {tokens, pages});
  std::vector<std::int32_t> order(tokens * pages);
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::shuffle(order.begin(), order.end(), inputs.rng());
  std::copy(order.begin(), order.end(), s.table.as<std::int32_t>());
  std::uniform_int_distribution<int> scale(120, 130);
  for (std::int64_t t = 0; t < tokens; ++t) {
    for (std::int64_t j = 0; j < page_rows * pages; ++j) {
      for (std::int64_t g = 0; g < width / 32; ++g) s.key(t, j)[width / 2 + g] = scale(inputs.rng());
    }
  }
  s.weights = inputs.bf16({tokens, heads});
  s.visible = Tensor::from<std::int32_t>(DType::kS32, {tokens}, visible);
  return s;
}

/// Exact within 2^53: every group is an integer times a power of two and the exponents span few bits.
float exact_dot(const Scene& s, std::int64_t t, std::int64_t h, std::int64_t j) {
  const std::uint8_t* q = s.q.as<std::uint8_t>() + (t * s.heads + h) * s.width / 2;
  const std::uint8_t* qs = s.qs.as<std::uint8_t>() + (t * s.heads + h) * s.width / 32;
  const std::uint8_t* k = s.key(t, j);
  float dot = 0;
  for (std::int64_t g = 0; g < s.width / 32; ++g) {
    double sum = 0;
    for (std::int64_t i = g * 32; i < g * 32 + 32; ++i) {
      sum += double{numeric::decode_packed_e2m1(q, i)} * double{numeric::decode_packed_e2m1(k, i)};
    }
    const double scale = double{numeric::decode_e8m0(qs[g])} * double{numeric::decode_e8m0(k[s.width / 2 + g])};
    dot = static_cast<float>(double{dot} + sum * scale);
  }
  return dot;
}

/// bf16(a * b + c) rounded once: all values here span few bits, so the double is exact.
float once(double exact) {
  const auto f = static_cast<float>(exact);
  const float lo = round_bf16(f);
  if (double{f} == exact) return lo;
  // f is not exact: decide between the neighbours of f by the exact value.
  const float below = round_bf16(std::nextafter(f, -HUGE_VALF));
  const float above = round_bf16(std::nextafter(f, HUGE_VALF));
  return std::abs(exact - double{below}) <= std::abs(exact - double{above}) ? below : above;
}

float defined_score(const Scene& s, std::string_view precision, std::int64_t t, std::int64_t j) {
  const BF16* weights = s.weights.as<BF16>() + t * s.heads;
  std::array<float, 8> chain{};
  float sum = 0;
  for (std::int64_t h = 0; h < s.heads; ++h) {
    const float w = to_float(weights[h]);
    const float d = std::max(exact_dot(s, t, h, j), 0.0F);
    if (precision == "official") sum += round_bf16(round_bf16(d) * w);
    if (precision == "fp32") chain[h % 8] += d * w;
    if (precision == "bf16_fma4") chain[h % 4] = once(double{round_bf16(d)} * double{w} + double{chain[h % 4]});
  }
  if (precision == "official") return round_bf16(sum);
  if (precision == "fp32") return numeric::tree8(chain.data());
  return round_bf16(round_bf16(chain[0] + chain[2]) + round_bf16(chain[1] + chain[3]));
}

float score_at(const Tensor& out, std::int64_t i) {
  return out.type().dtype == DType::kF32 ? out.as<float>()[i] : to_float(out.as<BF16>()[i]);
}
float masked(const Tensor& out) { return out.type().dtype == DType::kF32 ? -1e30F : round_bf16(-1e30F); }

constexpr const char* kPrecisions[] = {"official", "fp32", "bf16_fma4"};

TEST(IndexScore, HasTheDefinedBitsInEveryPrecision) {
  Inputs inputs("index_score.bits");
  for (const auto& sizes : std::vector<std::array<std::int64_t, 4>>{{32, 128, 100, 3}, {1, 32, 4, 5}, {6, 64, 7, 30}}) {
    const auto rows = static_cast<std::int32_t>(sizes[2] * sizes[3]);
    const Scene s = make_scene(inputs, sizes, {0, 1, rows / 2, rows - 1, rows});
    for (const char* precision : kPrecisions) {
      const auto out = run(index_score_def, s.operands(), s.attrs(precision));
      EXPECT_EQ(out[0].type().dtype, std::string_view(precision) == "fp32" ? DType::kF32 : DType::kBF16);
      for (std::int64_t t = 0; t < 5; ++t) {
        for (std::int64_t j = 0; j < rows; ++j) {
          const float expected =
              j < s.visible.as<std::int32_t>()[t] ? defined_score(s, precision, t, j) : masked(out[0]);
          ASSERT_EQ(score_at(out[0], t * rows + j), expected) << precision << " token " << t << " row " << j;
        }
      }
    }
  }
}

TEST(IndexScore, Fp32StaysNearTruth) {
  Inputs inputs("index_score.truth");
  const Scene s = make_scene(inputs, {32, 128, 16, 4}, {64, 30});
  const auto out = run(index_score_def, s.operands(), s.attrs("fp32"));
  const auto exact = truth(index_score_def, s.operands(), s.attrs("fp32"));
  double largest = 0;
  for (const double value : exact[0].span<double>()) largest = std::max(largest, value);
  EXPECT_LE(worst_excess(out[0], exact[0], largest * 0x1p-20, 0x1p-20), 0);
}

TEST(IndexScore, NegativeAndZeroWeights) {
  Inputs inputs("index_score.weights");
  Scene s = make_scene(inputs, {4, 32, 16, 1}, {16, 16});
  for (std::int64_t h = 0; h < 4; ++h) {
    s.weights.as<BF16>()[h] = BF16{};
    s.weights.as<BF16>()[4 + h] = to_bf16(-1.5F);
  }
  for (const char* precision : kPrecisions) {
    const auto out = run(index_score_def, s.operands(), s.attrs(precision));
    for (std::int64_t j = 0; j < 16; ++j) {
      EXPECT_EQ(score_at(out[0], j), 0.0F);
      EXPECT_LE(score_at(out[0], 16 + j), 0.0F);
    }
  }
}

TEST(IndexScore, InvisibleKeysAreNeverRead) {
  Inputs inputs("index_score.poison");
  const Scene s = make_scene(inputs, {2, 64, 8, 4}, {11});
  const auto clean = run(index_score_def, s.operands(), s.attrs("fp32"));
  for (std::int64_t j = 11; j < 32; ++j) std::memset(s.key(0, j), 0xFF, s.row_bytes());
  s.table.as<std::int32_t>()[2] = -1;  // pages beyond the visible rows need not exist
  const auto poisoned = run(index_score_def, s.operands(), s.attrs("fp32"));
  EXPECT_EQ(std::memcmp(clean[0].data(), poisoned[0].data(), clean[0].type().bytes()), 0);
}

TEST(IndexScore, CandidatesMaskAllOtherRows) {
  Inputs inputs("index_score.candidates");
  const Scene s = make_scene(inputs, {8, 64, 20, 5}, {100, 53, 0});  // pages of 20 rows cut blocks of 8
  const Tensor candidates =
      Tensor::from<std::int32_t>(DType::kS32, {3, 4}, std::vector<std::int32_t>{0, 2, 7, 12, 1, 6, -5, 99, 0, 0, 0, 0});
  const Tensor count = Tensor::from<std::int32_t>(DType::kS32, {3}, std::vector<std::int32_t>{4, 2, 0});
  for (const char* precision : kPrecisions) {
    const auto full = run(index_score_def, s.operands(), s.attrs(precision));
    auto in = s.operands();
    in.insert(in.end(), {&candidates, &count});
    const auto some = run(index_score_def, in, s.attrs(precision));
    const auto exact = truth(index_score_def, in, s.attrs(precision));
    for (std::int64_t t = 0; t < 3; ++t) {
      for (std::int64_t j = 0; j < 100; ++j) {
        const std::int32_t* first = candidates.as<std::int32_t>() + t * 4;
        const std::int32_t* last = first + count.as<std::int32_t>()[t];
        const bool kept = std::find(first, last, j / 8) != last;
        EXPECT_EQ(score_at(some[0], t * 100 + j), kept ? score_at(full[0], t * 100 + j) : masked(some[0]));
        EXPECT_EQ(exact[0].as<double>()[t * 100 + j] == -1e30, !kept || j >= s.visible.as<std::int32_t>()[t]);
      }
    }
  }
}

TEST(IndexScoreVarlen, EqualsTheDecodeForm) {
  Inputs inputs("index_score.varlen");
  const Scene s = make_scene(inputs, {4, 64, 8, 4}, {32, 17, 0, 9});
  // Token t reads table row seq[t] of a table with more rows than tokens.
  Tensor table = inputs.s32({6, 4}, -3, -1);
  const Tensor seq = Tensor::from<std::int32_t>(DType::kS32, {4}, std::vector<std::int32_t>{5, 0, 3, 2});
  for (std::int64_t t = 0; t < 4; ++t) {
    std::copy_n(s.table.as<std::int32_t>() + t * 4, 4, table.as<std::int32_t>() + seq.as<std::int32_t>()[t] * 4);
  }
  const Tensor candidates = inputs.s32({4, 2}, 0, 3);
  const Tensor count = inputs.s32({4}, 0, 2);
  for (const char* precision : kPrecisions) {
    for (const bool some : {false, true}) {
      auto decode_in = s.operands();
      std::vector<const Tensor*> in{&s.q, &s.qs, &s.root, &table, &seq, &s.weights, &s.visible};
      if (some) {
        decode_in.insert(decode_in.end(), {&candidates, &count});
        in.insert(in.end(), {&candidates, &count});
      }
      const auto decode = run(index_score_def, decode_in, s.attrs(precision));
      const auto varlen = run(index_score_varlen_def, in, s.attrs(precision));
      EXPECT_EQ(std::memcmp(decode[0].data(), varlen[0].data(), decode[0].type().bytes()), 0);
      const auto a = truth(index_score_def, decode_in, s.attrs(precision));
      const auto b = truth(index_score_varlen_def, in, s.attrs(precision));
      EXPECT_EQ(std::memcmp(a[0].data(), b[0].data(), a[0].type().bytes()), 0);
    }
  }
}

TEST(IndexScore, EmitFunctionsPassOperandsInOrder) {
  Inputs inputs("index_score.emit");
  const Scene s = make_scene(inputs, {4, 64, 8, 4}, {32, 17});
  const Tensor candidates = inputs.s32({2, 2}, 0, 3);
  const Tensor count = inputs.s32({2}, 1, 2);
  const Tensor seq = inputs.s32({2}, 0, 1);
  base::ThreadPool pool(1);
  graph::Scratch scratch;
  const graph::Bindings bindings;
  graph::EagerEmitter e({&pool, &isa::scalar(), &scratch}, bindings);
  const IndexScoreAttrs attrs{4, {12, 8, s.row_bytes()}, IndexPrecision::kF32, 4};
  IndexScoreOperands in{.q = e.constant(s.q),
                        .qs = e.constant(s.qs),
                        .root = e.constant(s.root),
                        .block_table = e.constant(s.table),
                        .weights = e.constant(s.weights),
                        .visible = e.constant(s.visible),
                        .candidates = e.constant(candidates),
                        .ccount = e.constant(count)};
  const Tensor decode = e.copy(index_score(e, in, attrs));
  in.seq = e.constant(seq);
  const Tensor varlen = e.copy(index_score_varlen(e, in, attrs));
  auto operands = s.operands();
  operands.insert(operands.end(), {&candidates, &count});
  const auto expected = run(index_score_def, operands, s.attrs("fp32", 4));
  operands.insert(operands.begin() + 4, &seq);
  const auto expected_varlen = run(index_score_varlen_def, operands, s.attrs("fp32", 4));
  EXPECT_EQ(std::memcmp(decode.data(), expected[0].data(), decode.type().bytes()), 0);
  EXPECT_EQ(std::memcmp(varlen.data(), expected_varlen[0].data(), varlen.type().bytes()), 0);
}

TEST(IndexScore, RefusesWrongTypes) {
  Inputs inputs("index_score.types");
  const Scene s = make_scene(inputs, {4, 64, 8, 4}, {32});
  const auto infer = [&](std::vector<TensorType> in, const graph::Attrs& given) {
    const auto attrs = graph::complete_attrs(index_score_def.attrs, given);
    return attrs.has_value() && index_score_def.infer(in, *attrs).has_value();
  };
  std::vector<TensorType> in;
  for (const Tensor* tensor : s.operands()) in.push_back(tensor->type());
  EXPECT_TRUE(infer(in, s.attrs("official")));
  EXPECT_FALSE(infer(in, s.attrs("exact")));
  for (std::size_t i = 0; i < in.size(); ++i) {
    auto wrong = in;
    wrong[i].dtype = DType::kF16;
    EXPECT_FALSE(infer(wrong, s.attrs("official"))) << i;
  }
  graph::Attrs large = s.attrs("official");
  large.set("rows", std::int64_t{9});
  EXPECT_FALSE(infer(in, large));
}

}  // namespace
}  // namespace deepinfer::ops::testing
