#include "ops/lm_head/lm_head.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(LmHead, FollowsTruth) {
  Inputs inputs("lm_head.truth");
  for (const std::int64_t hidden : {32, 100, 640}) {
    const Tensor x = inputs.bf16({3, hidden});
    const Tensor w = inputs.bf16({131, hidden}, 0.1);
    const double bound = 0.4 * std::sqrt(static_cast<double>(hidden)) * 0x1p-24 * static_cast<double>(hidden);
    EXPECT_LE(worst_excess(run(lm_head_def, {&x, &w})[0], truth(lm_head_def, {&x, &w})[0], bound, 0x1p-23), 0);
  }
}

TEST(LmHead, RefusesWrongTypes) {
  const TensorType x{DType::kBF16, {2, 8}};
  EXPECT_FALSE(lm_head_def.infer(std::vector{x, TensorType{DType::kBF16, {5, 9}}}, {}));
  EXPECT_FALSE(lm_head_def.infer(std::vector{x, TensorType{DType::kF32, {5, 8}}}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
