#include "ops/hc_expand/hc_expand.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

struct Site {
  Tensor y, streams, post, comb;
  std::vector<const Tensor*> operands() const { return {&y, &streams, &post, &comb}; }
};

Site make_site(Inputs& inputs, std::int64_t tokens, std::int64_t streams, std::int64_t hidden) {
  return {inputs.bf16({tokens, hidden}), inputs.bf16({tokens, streams, hidden}), inputs.f32({tokens, streams}),
          inputs.f32({tokens, streams, streams})};
}

TEST(HcExpand, FollowsTruthOnAllSizes) {
  Inputs inputs("hc_expand.sizes");
  for (const std::int64_t streams : {1, 2, 4, 5}) {
    for (const std::int64_t hidden : {1, 16, 100, 512, 513, 5120}) {
      const Site site = make_site(inputs, 3, streams, hidden);
      const auto out = run(hc_expand_def, site.operands());
      // Cancelling sums keep the fp32 rounding of their largest term (below 16 here).
      EXPECT_LE(worst_excess(out[0], truth(hc_expand_def, site.operands())[0], 0x1p-18, kHalfUlpBF16 * 1.001), 0);
    }
  }
}

TEST(HcExpand, SwappedMixingIndicesFail) {
  Inputs inputs("hc_expand.swapped");
  const Site site = make_site(inputs, 1, 4, 64);
  Tensor swapped = site.comb.clone();
  for (std::int64_t j = 0; j < 4; ++j) {
    for (std::int64_t k = 0; k < 4; ++k) swapped.as<float>()[k * 4 + j] = site.comb.as<float>()[j * 4 + k];
  }
  const auto wrong = truth(hc_expand_def, {&site.y, &site.streams, &site.post, &swapped});
  EXPECT_GT(worst_excess(run(hc_expand_def, site.operands())[0], wrong[0], 0.1, 0), 0);
}

TEST(HcExpand, OrderIsProductThenAscendingFmaChain) {
  Inputs inputs("hc_expand.order");
  const Site site = make_site(inputs, 1, 4, 600);
  const auto out = run(hc_expand_def, site.operands());
  for (std::int64_t k = 0; k < 4; ++k) {
    for (std::int64_t d = 0; d < 600; ++d) {
      float acc = site.post.as<float>()[k] * to_float(site.y.as<BF16>()[d]);
      for (std::int64_t j = 0; j < 4; ++j) {
        acc = std::fma(site.comb.as<float>()[j * 4 + k], to_float(site.streams.as<BF16>()[j * 600 + d]), acc);
      }
      EXPECT_EQ(out[0].as<BF16>()[k * 600 + d], to_bf16(acc));
    }
  }
}

TEST(HcExpand, RefusesWrongTypes) {
  const TensorType y{DType::kBF16, {2, 8}}, streams{DType::kBF16, {2, 4, 8}};
  const TensorType post{DType::kF32, {2, 4}}, comb{DType::kF32, {2, 4, 4}};
  EXPECT_TRUE(hc_expand_def.infer(std::vector{y, streams, post, comb}, {}));
  EXPECT_FALSE(hc_expand_def.infer(std::vector{y, streams, comb, comb}, {}));
  EXPECT_FALSE(hc_expand_def.infer(std::vector{y, streams, post, post}, {}));
  EXPECT_FALSE(hc_expand_def.infer(std::vector{streams, streams, post, comb}, {}));
  EXPECT_FALSE(hc_expand_def.infer(std::vector{y, streams, post}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
