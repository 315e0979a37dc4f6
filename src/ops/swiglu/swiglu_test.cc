#include "ops/swiglu/swiglu.h"

#include "ops/testing/op_tester.h"
#include "tensor/numeric/exp32.h"

namespace deepinfer::ops::testing {
namespace {

graph::Attrs limit(double value) { return {{"limit", value}}; }

TEST(Swiglu, FollowsTruthOnAllSizes) {
  Inputs inputs("swiglu.sizes");
  for (const std::int64_t n : {1, 32, 96, 255, 256, 257, 2304}) {
    const Tensor gate = inputs.bf16({3, n}, 4);
    const Tensor up = inputs.bf16({3, n}, 8);
    const Tensor w = inputs.f32({3});
    for (const double value : {0.0, 10.0, 1.5}) {
      for (const std::vector<const Tensor*>& in : {std::vector<const Tensor*>{&gate, &up}, {&gate, &up, &w}}) {
        const auto out = run(swiglu_def, in, limit(value));
        EXPECT_LE(worst_excess(out[0], truth(swiglu_def, in, limit(value))[0], 1e-30, kHalfUlpBF16 * 1.001), 0);
      }
    }
  }
}

// Every bf16 gate, against the defined operations one by one.
TEST(Swiglu, AllGatesGiveTheDefinedBits) {
  Tensor gate(DType::kBF16, {256, 256});
  Tensor up(DType::kBF16, {256, 256});
  for (std::int64_t i = 0; i < 65536; ++i) {
    gate.as<BF16>()[i] = {static_cast<std::uint16_t>(i)};
    up.as<BF16>()[i] = to_bf16(i % 2 == 0 ? 1.5F : -3.0F);
  }
  const auto out = run(swiglu_def, {&gate, &up}, limit(10));
  for (std::int64_t i = 0; i < 65536; ++i) {
    const float x = to_float(gate.as<BF16>()[i]);
    const float g = x > 10 ? 10 : x;
    const float expected = round_bf16(g / (1 + numeric::exp32(-g)) * to_float(up.as<BF16>()[i]));
    const float found = to_float(out[0].as<BF16>()[i]);
    EXPECT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << x;
  }
}

TEST(Swiglu, GateIsClampedAboveOnlyAndUpOnBothSides) {
  const std::array<BF16, 4> gates = {to_bf16(20), to_bf16(-20), to_bf16(10), to_bf16(10)};
  const std::array<BF16, 4> ups = {to_bf16(1), to_bf16(1), to_bf16(-64), to_bf16(64)};
  const Tensor gate = Tensor::from<BF16>(DType::kBF16, {1, 4}, gates);
  const Tensor up = Tensor::from<BF16>(DType::kBF16, {1, 4}, ups);
  const auto clamped = run(swiglu_def, {&gate, &up}, limit(10));
  const auto free = run(swiglu_def, {&gate, &up}, limit(0));
  EXPECT_EQ(to_float(clamped[0].as<BF16>()[0]), 10.0F);
  EXPECT_EQ(to_float(free[0].as<BF16>()[0]), 20.0F);
  EXPECT_EQ(clamped[0].as<BF16>()[1], free[0].as<BF16>()[1]);
  EXPECT_EQ(to_float(clamped[0].as<BF16>()[2]), -100.0F);
  EXPECT_EQ(to_float(clamped[0].as<BF16>()[3]), 100.0F);
}

TEST(Swiglu, RefusesWrongTypes) {
  const TensorType x{DType::kBF16, {2, 8}};
  EXPECT_FALSE(swiglu_def.infer(std::vector{x, TensorType{DType::kBF16, {2, 7}}}, limit(1)));
  EXPECT_FALSE(swiglu_def.infer(std::vector{x, x, TensorType{DType::kF32, {8}}}, limit(1)));
  EXPECT_FALSE(swiglu_def.infer(std::vector{x}, limit(1)));
}

}  // namespace
}  // namespace deepinfer::ops::testing
