#include "ops/quant_act/quant_act.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

constexpr QuantFormat kFormats[] = {QuantFormat::kAct32, QuantFormat::kFp4x32, QuantFormat::kFp4x16};

void expect_same_bytes(const Tensor& found, const Tensor& expected) {
  ASSERT_EQ(found.type(), expected.type());
  for (std::int64_t i = 0; i < found.type().num_elements(); ++i) {
    ASSERT_EQ(found.as<std::uint8_t>()[i], expected.as<std::uint8_t>()[i]) << i;
  }
}

void expect_follows_search(const Tensor& x, const graph::Attrs& attrs) {
  const auto found = run(quant_act_def, {&x}, attrs);
  const auto expected = truth(quant_act_def, {&x}, attrs);
  expect_same_bytes(found[0], expected[0]);
  expect_same_bytes(found[1], expected[1]);
}

TEST(QuantAct, FollowsTheTableSearchOnManyScales) {
  Inputs inputs("quant_act.search");
  for (const QuantFormat format : kFormats) {
    for (const double scale : {1e-30, 1e-3, 1.0, 300.0, 1e30}) {
      expect_follows_search(inputs.bf16({5, 2, 64}, scale), format_attrs(format));
    }
  }
  for (const double max : {224.0, 240.0}) expect_follows_search(inputs.bf16({9, 96}, 10), {{"max", max}});
}

TEST(QuantAct, GoldenBlockOfTheSpecification) {
  Tensor x(DType::kBF16, {32});
  for (int i = 0; i < 32; ++i) x.as<BF16>()[i] = to_bf16(static_cast<float>((i - 15.5) * 0.37));
  const auto out = run(quant_act_def, {&x});
  EXPECT_EQ(out[1].as<std::uint8_t>()[0], 121);
  EXPECT_EQ(out[0].as<std::uint8_t>()[0], 0xFC);
  EXPECT_EQ(out[0].as<std::uint8_t>()[31], 0x7C);
  const auto fp4 = run(quant_act_def, {&x}, format_attrs(QuantFormat::kFp4x16));
  EXPECT_EQ(fp4[1].as<std::uint8_t>()[0], 0x37);
  EXPECT_EQ(fp4[0].as<std::uint8_t>()[15], 0x77);
}

TEST(QuantAct, FaultsReachTheScale) {
  for (const QuantFormat format : kFormats) {
    Tensor x = Tensor::zeros({DType::kBF16, {32}});
    x.as<BF16>()[3] = to_bf16(NAN);
    expect_follows_search(x, format_attrs(format));
    const auto out = run(quant_act_def, {&x}, format_attrs(format));
    EXPECT_EQ(out[1].as<std::uint8_t>()[0], format == QuantFormat::kFp4x16 ? 0x7F : 0xFF);
  }
}

TEST(QuantAct, RefusesWrongTypes) {
  const auto infer = [](TensorType x, const graph::Attrs& attrs) {
    return quant_act_def.infer(std::vector{x}, *graph::complete_attrs(quant_act_def.attrs, attrs)).has_value();
  };
  EXPECT_TRUE(infer({DType::kBF16, {2, 64}}, {}));
  EXPECT_FALSE(infer({DType::kBF16, {2, 48}}, {}));
  EXPECT_FALSE(infer({DType::kF32, {2, 64}}, {}));
  EXPECT_FALSE(infer({DType::kBF16, {2, 64}}, {{"block", std::int64_t{16}}}));
  EXPECT_FALSE(infer({DType::kBF16, {2, 64}}, {{"fmt", graph::Word{"e5m2"}}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
