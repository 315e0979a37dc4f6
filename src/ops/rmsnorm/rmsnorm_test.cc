#include "ops/rmsnorm/rmsnorm.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(RmsNorm, FollowsTruthOnAllSizes) {
  Inputs inputs("rmsnorm.sizes");
  for (const std::int64_t n : {1, 16, 17, 64, 100, 512, 5120}) {
    for (const std::int64_t tokens : {1, 3}) {
      const Tensor x = inputs.bf16({tokens, n});
      const Tensor gamma = inputs.bf16({n});
      const graph::Attrs attrs{{"eps", 1e-20}};
      const auto out = run(rmsnorm_def, {&x, &gamma}, attrs);
      EXPECT_LE(worst_excess(out[0], truth(rmsnorm_def, {&x, &gamma}, attrs)[0], 0, kHalfUlpBF16 * 1.001), 0) << n;
    }
  }
}

TEST(RmsNorm, ZeroRowGivesZeroAndTinyRowsSeeEpsilon) {
  const Tensor x = Tensor::zeros({DType::kBF16, {1, 32}});
  Inputs inputs("rmsnorm.zero");
  const Tensor gamma = inputs.bf16({32});
  const auto out = run(rmsnorm_def, {&x, &gamma}, {{"eps", 1e-20}});
  for (const BF16 value : out[0].span<BF16>()) EXPECT_EQ(to_float(value), 0.0F);
  const Tensor tiny = inputs.bf16({1, 32}, 1e-12);
  const auto scaled = run(rmsnorm_def, {&tiny, &gamma}, {{"eps", 1e-20}});
  EXPECT_LE(worst_excess(scaled[0], truth(rmsnorm_def, {&tiny, &gamma}, {{"eps", 1e-20}})[0], 0, 0x1p-8), 0);
}

TEST(RmsNorm, RefusesWrongTypes) {
  const TensorType x{DType::kBF16, {2, 8}};
  EXPECT_FALSE(rmsnorm_def.infer(std::vector{x, TensorType{DType::kBF16, {7}}}, {}));
  EXPECT_FALSE(rmsnorm_def.infer(std::vector{x}, {}));
  EXPECT_FALSE(rmsnorm_def.infer(std::vector{TensorType{DType::kF32, {2, 8}}, TensorType{DType::kBF16, {8}}}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
