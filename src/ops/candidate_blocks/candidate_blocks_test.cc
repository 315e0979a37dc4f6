#include "ops/candidate_blocks/candidate_blocks.h"

#include "graph/eager_emitter.h"
#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

graph::Attrs attrs(std::int64_t block, std::int64_t keep) { return {{"block", block}, {"keep", keep}}; }

std::vector<Tensor> checked(const Tensor& scores, const Tensor& visible, const graph::Attrs& given) {
  auto found = run(candidate_blocks_def, {&scores, &visible}, given);
  const auto expected = truth(candidate_blocks_def, {&scores, &visible}, given);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(std::memcmp(found[i].data(), expected[i].data(), found[i].type().bytes()), 0) << "result " << i;
  }
  return found;
}

Tensor s32(std::vector<std::int32_t> values) {
  return Tensor::from<std::int32_t>(DType::kS32, {static_cast<std::int64_t>(values.size())}, values);
}

std::vector<std::int32_t> kept(const std::vector<Tensor>& result) {
  const std::int32_t* ids = result[0].as<std::int32_t>();
  return {ids, ids + result[1].as<std::int32_t>()[0]};
}

TEST(CandidateBlocks, KeepsTheBestAndTheNewest) {
  Tensor scores(DType::kF32, {1, 20});
  for (std::int64_t j = 0; j < 20; ++j) scores.as<float>()[j] = static_cast<float>(-j);
  EXPECT_EQ(kept(checked(scores, s32({20}), attrs(4, 3))), (std::vector<std::int32_t>{0, 1, 4}));
  EXPECT_EQ(kept(checked(scores, s32({13}), attrs(4, 3))), (std::vector<std::int32_t>{0, 1, 3}));
  EXPECT_EQ(kept(checked(scores, s32({12}), attrs(4, 1))), (std::vector<std::int32_t>{2}));
  EXPECT_EQ(kept(checked(scores, s32({20}), attrs(4, 99))), (std::vector<std::int32_t>{0, 1, 2, 3, 4}));
  EXPECT_TRUE(kept(checked(scores, s32({0}), attrs(4, 3))).empty());
}

TEST(CandidateBlocks, TiesGoToTheLowerBlock) {
  const Tensor zeros = Tensor::zeros({DType::kBF16, {1, 40}});
  EXPECT_EQ(kept(checked(zeros, s32({40}), attrs(8, 3))), (std::vector<std::int32_t>{0, 1, 4}));
}

TEST(CandidateBlocks, MaskedAndNanBlocksDoNotQualify) {
  Tensor scores(DType::kF32, {1, 16});
  for (std::int64_t j = 0; j < 16; ++j) scores.as<float>()[j] = j < 8 ? -1e30F : std::nanf("");
  scores.as<float>()[5] = -3;
  EXPECT_EQ(kept(checked(scores, s32({16}), attrs(4, 4))), (std::vector<std::int32_t>{1, 3}));  // newest is forced
  scores.as<float>()[9] = HUGE_VALF;  // a forced block goes before an infinite score
  EXPECT_EQ(kept(checked(scores, s32({16}), attrs(4, 1))), (std::vector<std::int32_t>{3}));
}

TEST(CandidateBlocks, EqualsTheSortedReference) {
  Inputs inputs("candidate_blocks.random");
  for (const std::int64_t rows : {1, 7, 8, 9, 203, 1000}) {
    const auto most = static_cast<std::int32_t>(rows);
    const Tensor visible = inputs.s32({6}, 0, most);
    for (const std::int64_t keep : {1, 2, 6, 50, 2048}) {
      checked(inputs.f32({6, rows}), visible, attrs(8, keep));
      checked(inputs.bf16({6, rows}), visible, attrs(8, keep));
      Tensor ties = inputs.f32({6, rows});
      for (float& value : ties.span<float>()) value = std::round(value * 0.7F);
      checked(ties, visible, attrs(3, keep));
    }
  }
}

TEST(CandidateBlocks, RowsBeyondVisibleDoNotMatter) {
  Inputs inputs("candidate_blocks.beyond");
  Tensor scores = inputs.f32({1, 40});
  const auto before = kept(checked(scores, s32({21}), attrs(4, 3)));
  for (std::int64_t j = 21; j < 40; ++j) scores.as<float>()[j] = j % 2 == 0 ? std::nanf("") : 1e9F;
  EXPECT_EQ(kept(checked(scores, s32({21}), attrs(4, 3))), before);
}

TEST(CandidateBlocks, EmitFunctionGivesBothResults) {
  Inputs inputs("candidate_blocks.emit");
  const Tensor scores = inputs.f32({2, 30});
  const Tensor visible = s32({30, 3});
  const auto expected = run(candidate_blocks_def, {&scores, &visible}, attrs(4, 3));
  base::ThreadPool pool(1);
  graph::Scratch scratch;
  const graph::Bindings bindings;
  graph::EagerEmitter e({&pool, &isa::scalar(), &scratch}, bindings);
  const Selection found = candidate_blocks(e, e.constant(scores), e.constant(visible), CandidateAttrs{4, 3});
  EXPECT_EQ(std::memcmp(e.copy(found.ids).data(), expected[0].data(), expected[0].type().bytes()), 0);
  EXPECT_EQ(std::memcmp(e.copy(found.count).data(), expected[1].data(), expected[1].type().bytes()), 0);
}

TEST(CandidateBlocks, RefusesWrongTypes) {
  const TensorType scores{DType::kF32, {2, 8}};
  const TensorType visible{DType::kS32, {2}};
  EXPECT_TRUE(candidate_blocks_def.infer(std::vector{scores, visible}, attrs(8, 1)));
  EXPECT_FALSE(candidate_blocks_def.infer(std::vector{scores, visible}, attrs(0, 1)));
  EXPECT_FALSE(candidate_blocks_def.infer(std::vector{scores, visible}, attrs(8, 0)));
  EXPECT_FALSE(candidate_blocks_def.infer(std::vector{scores, scores}, attrs(8, 1)));
}

}  // namespace
}  // namespace deepinfer::ops::testing
