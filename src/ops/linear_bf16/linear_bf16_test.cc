#include "ops/linear_bf16/linear_bf16.h"

#include "ops/testing/op_tester.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops::testing {
namespace {

/// 2 sqrt(K) 2^-24 times sum |w x|, with standard normal operands: E|w x| = 2/pi, and no sum reaches K * 2.
double bound(std::int64_t k) { return 4 * std::sqrt(static_cast<double>(k)) * 0x1p-24 * static_cast<double>(k); }

TEST(LinearBF16, FollowsTruthOnManySizes) {
  Inputs inputs("linear_bf16.sizes");
  for (const std::int64_t k : {1, 15, 64, 200, 1024}) {
    for (const std::int64_t n : {1, 33, 100}) {
      const Tensor x = inputs.bf16({3, k});
      for (const Tensor& w : {inputs.bf16({n, k}), inputs.f32({n, k})}) {
        const graph::Attrs wide{{"out", DType::kF32}};
        EXPECT_LE(worst_excess(run(linear_bf16_def, {&x, &w}, wide)[0], truth(linear_bf16_def, {&x, &w}, wide)[0],
                               bound(k), 0x1p-23), 0);
        const graph::Attrs narrow{{"out", DType::kBF16}};
        EXPECT_LE(worst_excess(run(linear_bf16_def, {&x, &w}, narrow)[0], truth(linear_bf16_def, {&x, &w}, narrow)[0],
                               bound(k), kHalfUlpBF16 * 1.001), 0);
      }
    }
  }
}

TEST(LinearBF16, UsesTheColumnMapOfTheWeightType) {
  Inputs inputs("linear_bf16.bits");
  const std::int64_t k = 200;
  const Tensor x = inputs.bf16({1, k});
  const Tensor narrow = inputs.bf16({50, k});
  const Tensor wide = inputs.f32({50, k});
  const auto xs = [&](std::int64_t i) { return to_float(x.as<BF16>()[i]); };
  const Tensor a = std::move(run(linear_bf16_def, {&x, &narrow}, {{"out", DType::kF32}})[0]);
  const Tensor b = std::move(run(linear_bf16_def, {&x, &wide}, {{"out", DType::kF32}})[0]);
  for (std::int64_t r = 0; r < 50; ++r) {
    EXPECT_EQ(a.as<float>()[r], numeric::v16_dot<numeric::ColumnMap::kBf16>(k, xs, [&](std::int64_t i) {
                return to_float(narrow.as<BF16>()[r * k + i]);
              }));
    EXPECT_EQ(b.as<float>()[r], numeric::v16_dot<numeric::ColumnMap::kF32>(
                                    k, xs, [&](std::int64_t i) { return wide.as<float>()[r * k + i]; }));
  }
}

TEST(LinearBF16, FoldScaleRoundsTwice) {
  Inputs inputs("linear_bf16.fold");
  const Tensor x = inputs.bf16({2, 64});
  const Tensor w = inputs.bf16({70, 64});
  const Tensor plain = std::move(run(linear_bf16_def, {&x, &w}, {{"out", DType::kBF16}})[0]);
  const Tensor folded = std::move(run(linear_bf16_def, {&x, &w}, {{"out", DType::kBF16}, {"fold_scale", 0.3}})[0]);
  for (int i = 0; i < 140; ++i) {
    EXPECT_EQ(folded.as<BF16>()[i], to_bf16(to_float(plain.as<BF16>()[i]) * 0.3F));
  }
}

TEST(LinearBF16, RefusesWrongTypes) {
  const TensorType x{DType::kBF16, {2, 8}};
  const graph::Attrs wide{{"out", DType::kF32}, {"fold_scale", 1.0}};
  EXPECT_TRUE(linear_bf16_def.infer(std::vector{x, TensorType{DType::kF32, {3, 8}}}, wide));
  EXPECT_FALSE(linear_bf16_def.infer(std::vector{x, TensorType{DType::kF32, {3, 9}}}, wide));
  EXPECT_FALSE(linear_bf16_def.infer(std::vector{x, TensorType{DType::kU8, {3, 8}}}, wide));
  EXPECT_FALSE(linear_bf16_def.infer(std::vector{x, x}, {{"out", DType::kF32}, {"fold_scale", 0.5}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
