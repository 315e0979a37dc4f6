#include "ops/hc_mixes/hc_mixes.h"

#include "ops/testing/op_tester.h"
#include "tensor/numeric/transcendental.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops::testing {
namespace {

struct Site {
  Tensor streams, fn, scale, base;
  std::vector<const Tensor*> operands() const { return {&streams, &fn, &scale, &base}; }
};

Site make_site(Inputs& inputs, std::int64_t tokens, std::int64_t streams, std::int64_t hidden) {
  const std::int64_t rows = (2 + streams) * streams;
  const double spread = 1 / std::sqrt(static_cast<double>(streams * hidden));
  return {inputs.bf16({tokens, streams, hidden}), inputs.f32({rows, streams * hidden}, spread), inputs.f32({3}),
          inputs.f32({rows})};
}

graph::Attrs attrs(std::int64_t iters = 20) { return {{"iters", iters}, {"norm_eps", 1e-20}}; }

TEST(HcMixes, FollowsTruthOnAllSizes) {
  Inputs inputs("hc_mixes.sizes");
  for (const std::int64_t streams : {1, 2, 3, 4}) {
    for (const std::int64_t hidden : {1, 16, 100, 128, 129, 160, 640}) {
      for (const std::int64_t tokens : {1, 3, 17}) {
        const Site site = make_site(inputs, tokens, streams, hidden);
        const auto out = run(hc_mixes_def, site.operands(), attrs());
        const auto expected = truth(hc_mixes_def, site.operands(), attrs());
        for (std::size_t i = 0; i < 3; ++i) {
          EXPECT_LE(worst_excess(out[i], expected[i], 1e-5, 0), 0) << streams << " " << hidden << " result " << i;
        }
      }
    }
  }
}

TEST(HcMixes, ReleasedSizeFollowsTruth) {
  Inputs inputs("hc_mixes.released");
  const Site site = make_site(inputs, 2, 4, 5120);
  const auto out = run(hc_mixes_def, site.operands(), attrs());
  const auto expected = truth(hc_mixes_def, site.operands(), attrs());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_LE(worst_excess(out[i], expected[i], 1e-5, 0), 0) << i;
}

TEST(HcMixes, DotsFollowTheChunkRuleBitForBit) {
  Inputs inputs("hc_mixes.chunks");
  for (const std::int64_t hidden : {100, 160, 1024}) {
    const Site site = make_site(inputs, 18, 3, hidden);
    const auto out = run(hc_mixes_def, site.operands(), attrs());
    for (std::int64_t t = 0; t < 18; ++t) {
      const auto x = [&](std::int64_t i) { return to_float(site.streams.as<BF16>()[t * 3 * hidden + i]); };
      const float mean = numeric::hc_dot(hidden, 3, x, x) / static_cast<float>(3 * hidden);
      const float r = 1.0F / std::sqrt(mean + 1e-20F);
      for (std::int64_t j = 0; j < 6; ++j) {
        const auto fn = [&](std::int64_t i) { return site.fn.as<float>()[j * 3 * hidden + i]; };
        const float m = numeric::hc_dot(hidden, 3, x, fn) * r;
        const float sigma = numeric::sigmoid_f64(m * site.scale.as<float>()[j / 3] + site.base.as<float>()[j]);
        EXPECT_EQ(out[static_cast<std::size_t>(j / 3)].as<float>()[t * 3 + j % 3], j < 3 ? sigma + 1e-6F : 2 * sigma);
      }
    }
  }
}

TEST(HcMixes, RowsAndColumnsSumToOneAndOrientationCounts) {
  Inputs inputs("hc_mixes.sums");
  Site site = make_site(inputs, 4, 4, 64);
  site.scale = inputs.f32({3}, 0.3);  // moderate logits: 20 rounds reach 1e-4 (convergence slows with their spread)
  site.base = inputs.f32({24}, 0.5);
  const auto full = run(hc_mixes_def, site.operands(), attrs());
  const auto once = run(hc_mixes_def, site.operands(), attrs(1));
  double row_error = 0;
  for (std::int64_t t = 0; t < 4; ++t) {
    for (std::int64_t a = 0; a < 4; ++a) {
      double row = 0, column = 0, once_row = 0, once_column = 0;
      for (std::int64_t b = 0; b < 4; ++b) {
        row += full[2].as<float>()[t * 16 + a * 4 + b];
        column += full[2].as<float>()[t * 16 + b * 4 + a];
        once_row += once[2].as<float>()[t * 16 + a * 4 + b];
        once_column += once[2].as<float>()[t * 16 + b * 4 + a];
      }
      EXPECT_NEAR(row, 1, 1e-4);
      EXPECT_NEAR(column, 1, 1e-4);
      EXPECT_NEAR(once_column, 1, 1e-5);  // the last step is on columns (sum over the first index)
      row_error = std::max(row_error, std::abs(once_row - 1));
    }
  }
  EXPECT_GT(row_error, 0.05);
}

TEST(HcMixes, ZeroStreamsStayFinite) {
  Inputs inputs("hc_mixes.zero");
  Site site = make_site(inputs, 1, 4, 160);
  site.streams = Tensor::zeros(site.streams.type());
  for (const Tensor& result : run(hc_mixes_def, site.operands(), attrs())) {
    for (const float value : result.span<float>()) EXPECT_TRUE(std::isfinite(value));
  }
}

TEST(HcMixes, RowsDoNotDependOnCompanions) {
  Inputs inputs("hc_mixes.companions");
  const Site site = make_site(inputs, 19, 4, 160);
  const auto all = run(hc_mixes_def, site.operands(), attrs());
  for (const std::int64_t t : {0, 15, 16, 18}) {
    const auto row = Tensor::from<BF16>(DType::kBF16, {1, 4, 160},
                                        site.streams.span<BF16>().subspan(static_cast<std::size_t>(t * 640), 640));
    const auto alone = run(hc_mixes_def, {&row, &site.fn, &site.scale, &site.base}, attrs());
    for (std::int64_t i = 0; i < 16; ++i) EXPECT_EQ(alone[2].as<float>()[i], all[2].as<float>()[t * 16 + i]);
  }
}

TEST(HcMixes, RefusesWrongTypes) {
  const TensorType streams{DType::kBF16, {2, 4, 8}};
  const TensorType fn{DType::kF32, {24, 32}}, scale{DType::kF32, {3}}, base{DType::kF32, {24}};
  const auto full = graph::complete_attrs(hc_mixes_def.attrs, attrs()).value();
  EXPECT_TRUE(hc_mixes_def.infer(std::vector{streams, fn, scale, base}, full));
  EXPECT_FALSE(hc_mixes_def.infer(std::vector{streams, base, scale, base}, full));
  EXPECT_FALSE(hc_mixes_def.infer(std::vector{streams, fn, base, base}, full));
  EXPECT_FALSE(hc_mixes_def.infer(std::vector{streams, fn, scale}, full));
  const auto none = graph::complete_attrs(hc_mixes_def.attrs, attrs(0)).value();
  EXPECT_FALSE(hc_mixes_def.infer(std::vector{streams, fn, scale, base}, none));
}

}  // namespace
}  // namespace deepinfer::ops::testing
