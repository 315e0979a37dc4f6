#include "ops/elementwise/elementwise.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(Convert, RoundsToNearestEvenAndWidensExactly) {
  const std::vector<float> values{0x1.01p0F, 0x1.03p0F, 0x1.0101p0F, -0.0F, 3.5F, INFINITY};
  const Tensor x = Tensor::from<float>(DType::kF32, {6}, values);
  const Tensor narrow = std::move(run(convert_def, {&x}, {{"to", DType::kBF16}})[0]);
  const std::uint16_t expected[] = {0x3F80, 0x3F82, 0x3F81, 0x8000, 0x4060, 0x7F80};
  for (int i = 0; i < 6; ++i) EXPECT_EQ(narrow.as<BF16>()[i].bits, expected[i]) << i;
  const graph::Attrs wide{{"to", DType::kF32}};
  EXPECT_LE(worst_excess(run(convert_def, {&narrow}, wide)[0], truth(convert_def, {&narrow}, wide)[0], 0, 0), 0);
  const graph::Attrs same{{"to", DType::kBF16}};
  EXPECT_LE(worst_excess(run(convert_def, {&narrow}, same)[0], truth(convert_def, {&narrow}, same)[0], 0, 0), 0);
}

TEST(Add, RoundsOnceInBothTypes) {
  Inputs inputs("elementwise.add");
  const Tensor a = inputs.bf16({3, 5000});
  const Tensor b = inputs.bf16({3, 5000}, 0.01);
  EXPECT_LE(worst_excess(run(add_def, {&a, &b})[0], truth(add_def, {&a, &b})[0], 0, 0x1p-8 * 1.0001), 0);
  const Tensor c = inputs.f32({7});
  const Tensor d = inputs.f32({7});
  EXPECT_LE(worst_excess(run(add_def, {&c, &d})[0], truth(add_def, {&c, &d})[0], 0, 0x1p-24), 0);
}

TEST(Elementwise, RefuseWrongTypes) {
  const TensorType x{DType::kBF16, {2, 8}};
  EXPECT_FALSE(add_def.infer(std::vector{x, TensorType{DType::kF32, {2, 8}}}, {}));
  EXPECT_FALSE(add_def.infer(std::vector{TensorType{DType::kS32, {2}}, TensorType{DType::kS32, {2}}}, {}));
  EXPECT_FALSE(convert_def.infer(std::vector{x}, {{"to", DType::kS32}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
