#include "ops/hc_collapse/hc_collapse.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(HcCollapse, FollowsTruthOnAllSizes) {
  Inputs inputs("hc_collapse.sizes");
  for (const std::int64_t streams : {1, 2, 4, 5}) {
    for (const std::int64_t hidden : {1, 16, 100, 512, 513, 5120}) {
      const Tensor x = inputs.bf16({3, streams, hidden});
      const Tensor mix = inputs.f32({3, streams});
      const auto out = run(hc_collapse_def, {&x, &mix});
      // Cancelling sums keep the fp32 rounding of their largest term (below 16 here).
      EXPECT_LE(worst_excess(out[0], truth(hc_collapse_def, {&x, &mix})[0], 0x1p-18, kHalfUlpBF16 * 1.001), 0);
    }
  }
}

TEST(HcCollapse, OrderIsAnAscendingFmaChain) {
  Inputs inputs("hc_collapse.order");
  const Tensor x = inputs.bf16({2, 4, 700});
  const Tensor mix = inputs.f32({2, 4});
  const auto out = run(hc_collapse_def, {&x, &mix});
  for (std::int64_t t = 0; t < 2; ++t) {
    for (std::int64_t d = 0; d < 700; ++d) {
      float acc = mix.as<float>()[t * 4] * to_float(x.as<BF16>()[t * 2800 + d]);
      for (std::int64_t j = 1; j < 4; ++j) {
        acc = std::fma(mix.as<float>()[t * 4 + j], to_float(x.as<BF16>()[t * 2800 + j * 700 + d]), acc);
      }
      EXPECT_EQ(out[0].as<BF16>()[t * 700 + d], to_bf16(acc));
    }
  }
}

TEST(HcCollapse, OneHotReturnsStreamZeroBitForBit) {
  Inputs inputs("hc_collapse.one_hot");
  const Tensor x = inputs.bf16({1, 4, 256});
  const std::array<float, 4> one_hot = {1, 0, 0, 0};
  const Tensor mix = Tensor::from<float>(DType::kF32, {1, 4}, one_hot);
  const auto out = run(hc_collapse_def, {&x, &mix});
  for (std::int64_t d = 0; d < 256; ++d) EXPECT_EQ(out[0].as<BF16>()[d], x.as<BF16>()[d]);
}

TEST(HcCollapse, RefusesWrongTypes) {
  const TensorType streams{DType::kBF16, {2, 4, 8}};
  EXPECT_FALSE(hc_collapse_def.infer(std::vector{streams, TensorType{DType::kF32, {2, 3}}}, {}));
  EXPECT_FALSE(hc_collapse_def.infer(std::vector{streams, TensorType{DType::kBF16, {2, 4}}}, {}));
  EXPECT_FALSE(hc_collapse_def.infer(std::vector{streams}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
