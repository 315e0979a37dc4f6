#include "ops/gate_scores/gate_scores.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(GateScores, FollowsTruth) {
  Inputs inputs("gate_scores.truth");
  for (const double temp : {1.0, 0.7, 4.0}) {
    const Tensor x = inputs.bf16({3, 160});
    const Tensor w = inputs.bf16({45, 160}, 0.2);
    const graph::Attrs attrs{{"temp", temp}};
    EXPECT_LE(worst_excess(run(gate_scores_def, {&x, &w}, attrs)[0], truth(gate_scores_def, {&x, &w}, attrs)[0], 1e-6,
                           1e-5), 0) << temp;
  }
}

TEST(GateScores, LargeAndVeryNegativeDots) {
  const Tensor x = Tensor::from<BF16>(DType::kBF16, {1, 1}, std::vector{to_bf16(1.0F)});
  const Tensor w = Tensor::from<BF16>(DType::kBF16, {4, 1},
                                      std::vector{to_bf16(0.0F), to_bf16(64.0F), to_bf16(-256.0F), to_bf16(-40.0F)});
  const Tensor out = std::move(run(gate_scores_def, {&x, &w})[0]);
  EXPECT_EQ(out.as<float>()[0], static_cast<float>(std::sqrt(static_cast<double>(static_cast<float>(std::log(2.0))))));
  EXPECT_EQ(out.as<float>()[1], 8.0F);
  EXPECT_GE(out.as<float>()[2], 0.0F);
  EXPECT_GT(out.as<float>()[3], 0.0F);
}

TEST(GateScores, RefusesWrongTypes) {
  const TensorType x{DType::kBF16, {2, 8}};
  EXPECT_FALSE(gate_scores_def.infer(std::vector{x, TensorType{DType::kBF16, {5, 9}}}, {{"temp", 1.0}}));
  EXPECT_FALSE(gate_scores_def.infer(std::vector{x, x}, {{"temp", 0.0}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
