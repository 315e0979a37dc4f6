#include "ops/topk_select/topk_select.h"

#include "graph/eager_emitter.h"
#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

Tensor f32(Shape shape, std::vector<float> values) { return Tensor::from<float>(DType::kF32, shape, values); }
Tensor s32(std::vector<std::int32_t> values) {
  return Tensor::from<std::int32_t>(DType::kS32, {static_cast<std::int64_t>(values.size())}, values);
}
Tensor narrow(const Tensor& wide) {
  Tensor out(DType::kBF16, wide.shape());
  for (std::int64_t i = 0; i < wide.type().num_elements(); ++i) out.as<BF16>()[i] = to_bf16(wide.as<float>()[i]);
  return out;
}

/// Kernel against the sorting reference, exactly; returns the result.
std::vector<Tensor> checked(const Tensor& scores, const Tensor& visible, std::int64_t k) {
  auto found = run(topk_select_def, {&scores, &visible}, {{"k", k}});
  const auto expected = truth(topk_select_def, {&scores, &visible}, {{"k", k}});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::memcmp(found[i].data(), expected[i].data(), found[i].type().bytes()), 0) << "result " << i;
  }
  return found;
}

TEST(TopkSelect, AllSmallListsOfThreeScores) {
  // Every list of up to 6 rows over {-1, 0, 2, masked} with every k and visible count.
  const float values[] = {-1, 0, 2, -1e30F};
  for (std::int64_t rows = 1; rows <= 6; ++rows) {
    const std::int64_t lists = std::int64_t{1} << (2 * rows);
    Tensor scores(DType::kF32, {lists, rows});
    for (std::int64_t l = 0; l < lists; ++l) {
      for (std::int64_t j = 0; j < rows; ++j) scores.as<float>()[l * rows + j] = values[(l >> (2 * j)) & 3];
    }
    for (std::int64_t k = 1; k <= rows; ++k) {
      for (std::int32_t seen = 0; seen <= rows; ++seen) {
        const Tensor visible = s32(std::vector<std::int32_t>(lists, seen));
        for (const bool wide : {true, false}) {
          const Tensor in = wide ? scores.clone() : narrow(scores);
          const auto found = call(topk_select_def, {&in, &visible}, {{"k", k}}, {}, false);
          const auto expected = truth(topk_select_def, {&in, &visible}, {{"k", k}});
          ASSERT_EQ(std::memcmp(found[0].data(), expected[0].data(), found[0].type().bytes()), 0);
          ASSERT_EQ(std::memcmp(found[1].data(), expected[1].data(), found[1].type().bytes()), 0);
        }
      }
    }
  }
}

TEST(TopkSelect, TiesGoToTheLowerRow) {
  const auto out = checked(f32({1, 7}, {0, 1, -0.0F, 1, 0, 1, 2}), s32({7}), 5);
  const std::vector<std::int32_t> expected{0, 1, 3, 5, 6};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out[0].as<std::int32_t>()));
  EXPECT_EQ(out[1].as<std::int32_t>()[0], 5);
}

TEST(TopkSelect, SizesAroundFiveHundredAndTwelve) {
  Inputs inputs("topk_select.sizes");
  for (const std::int64_t rows : {511, 512, 513, 700}) {
    const Tensor scores = inputs.f32({4, rows});
    const Tensor visible = s32({static_cast<std::int32_t>(rows), static_cast<std::int32_t>(rows - 1), 1, 0});
    for (const std::int64_t k : {std::int64_t{1}, std::int64_t{511}, std::min<std::int64_t>(512, rows)}) {
      checked(scores, visible, k);
      checked(narrow(scores), visible, k);
      Tensor ties = scores.clone();  // few distinct values: ties across the k boundary
      for (float& value : ties.span<float>()) value = std::round(value);
      checked(ties, visible, k);
      checked(Tensor::zeros(scores.type()), visible, k);
    }
  }
}

TEST(TopkSelect, NeverPicksMaskedOrNan) {
  const float nan = std::nanf("");
  const float inf = HUGE_VALF;
  const auto out = checked(f32({1, 8}, {nan, -1e30F, 3, -inf, -nan, -9e29F, inf, -1e31F}), s32({8}), 6);
  EXPECT_EQ(out[1].as<std::int32_t>()[0], 3);
  const std::vector<std::int32_t> expected{2, 5, 6, 0, 0, 0};
  EXPECT_TRUE(std::equal(expected.begin(), expected.end(), out[0].as<std::int32_t>()));
  Tensor masked(DType::kBF16, {1, 4});
  for (BF16& value : masked.span<BF16>()) value = to_bf16(-1e30F);
  EXPECT_EQ(checked(masked, s32({4}), 2)[1].as<std::int32_t>()[0], 0);
}

TEST(TopkSelect, RowsBeyondVisibleDoNotMatter) {
  Inputs inputs("topk_select.beyond");
  Tensor scores = inputs.f32({1, 40});
  const auto before = checked(scores, s32({25}), 10);
  for (std::int64_t j = 25; j < 40; ++j) scores.as<float>()[j] = j % 2 == 0 ? std::nanf("") : 1e9F;
  const auto after = checked(scores, s32({25}), 10);
  EXPECT_EQ(std::memcmp(before[0].data(), after[0].data(), before[0].type().bytes()), 0);
}

TEST(TopkSelect, EmitFunctionGivesBothResults) {
  Inputs inputs("topk_select.emit");
  const Tensor scores = inputs.f32({2, 30});
  const Tensor visible = s32({30, 3});
  const auto expected = run(topk_select_def, {&scores, &visible}, {{"k", std::int64_t{5}}});
  base::ThreadPool pool(1);
  graph::Scratch scratch;
  const graph::Bindings bindings;
  graph::EagerEmitter e({&pool, &isa::scalar(), &scratch}, bindings);
  const Selection found = topk_select(e, e.constant(scores), e.constant(visible), 5);
  EXPECT_EQ(std::memcmp(e.copy(found.ids).data(), expected[0].data(), expected[0].type().bytes()), 0);
  EXPECT_EQ(std::memcmp(e.copy(found.count).data(), expected[1].data(), expected[1].type().bytes()), 0);
}

TEST(TopkSelect, RefusesWrongTypes) {
  const TensorType scores{DType::kF32, {2, 8}};
  const TensorType visible{DType::kS32, {2}};
  const auto accepts = [](std::vector<TensorType> in, std::int64_t k) {
    return topk_select_def.infer(in, {{"k", k}}).has_value();
  };
  EXPECT_TRUE(accepts({scores, visible}, 8));
  EXPECT_FALSE(accepts({scores, visible}, 9));
  EXPECT_FALSE(accepts({scores, visible}, 0));
  EXPECT_FALSE(accepts({scores, {DType::kS32, {3}}}, 8));
  EXPECT_FALSE(accepts({{DType::kS32, {2, 8}}, visible}, 8));
}

}  // namespace
}  // namespace deepinfer::ops::testing
