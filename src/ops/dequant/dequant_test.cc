#include "ops/dequant/dequant.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(Dequant, IsExactForEveryCodeAndFormat) {
  Inputs inputs("dequant.codes");
  Tensor all(DType::kU8, {8, 32});
  for (int i = 0; i < 256; ++i) all.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(i);
  const Tensor codes = inputs.codes({8, 32});
  const Tensor power8 = inputs.u8({8, 1}, 60, 190);
  EXPECT_LE(worst_excess(run(dequant_def, {&codes, &power8})[0], truth(dequant_def, {&codes, &power8})[0], 0, 0), 0);
  const Tensor power = inputs.u8({8, 2}, 60, 190);
  const graph::Attrs fp4x32 = format_attrs(QuantFormat::kFp4x32);
  EXPECT_LE(worst_excess(run(dequant_def, {&all, &power}, fp4x32)[0], truth(dequant_def, {&all, &power}, fp4x32)[0], 0,
                         0), 0);
  const Tensor minifloat = inputs.u8({8, 4}, 1, 0x7E);
  const graph::Attrs fp4x16 = format_attrs(QuantFormat::kFp4x16);
  const auto out = run(dequant_def, {&all, &minifloat}, fp4x16);
  EXPECT_EQ(out[0].shape(), Shape({8, 64}));
  EXPECT_LE(worst_excess(out[0], truth(dequant_def, {&all, &minifloat}, fp4x16)[0], 0, 0), 0);
}

TEST(Dequant, NanScaleStaysVisible) {
  const Tensor codes = Tensor::zeros({DType::kU8, {1, 32}});
  const Tensor scales = Tensor::from<std::uint8_t>(DType::kU8, {1, 1}, std::vector<std::uint8_t>{0xFF});
  EXPECT_TRUE(std::isnan(to_float(run(dequant_def, {&codes, &scales})[0].as<BF16>()[0])));
}

TEST(Dequant, RefusesWrongTypes) {
  const auto infer = [](TensorType codes, TensorType scales) {
    return dequant_def.infer(std::vector{codes, scales}, *graph::complete_attrs(dequant_def.attrs, {})).has_value();
  };
  EXPECT_TRUE(infer({DType::kU8, {2, 64}}, {DType::kU8, {2, 2}}));
  EXPECT_FALSE(infer({DType::kU8, {2, 64}}, {DType::kU8, {2, 4}}));
  EXPECT_FALSE(infer({DType::kU8, {2, 33}}, {DType::kU8, {2, 1}}));
  EXPECT_FALSE(infer({DType::kBF16, {2, 64}}, {DType::kU8, {2, 2}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
