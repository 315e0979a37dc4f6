#include "ops/linear_blockquant/linear_blockquant.h"

#include "ops/testing/op_tester.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops::testing {
namespace {

using Ints = std::int64_t;

struct Case {
  Tensor codes, scales, w, ws;
  std::vector<const Tensor*> in() const { return {&codes, &scales, &w, &ws}; }
};

Case make_fp8(Inputs& inputs, Ints tokens, Ints n, Ints k, Ints kb = 32, Ints nb = 32) {
  return {inputs.codes({tokens, k}), inputs.u8({tokens, k / 32}, 115, 121), inputs.codes({n, k}),
          inputs.u8({(n + nb - 1) / nb, k / kb}, 112, 122)};
}
Case make_fp4(Inputs& inputs, Ints tokens, Ints n, Ints k) {
  return {inputs.codes({tokens, k}), inputs.u8({tokens, k / 32}, 115, 121), inputs.u8({n, k / 2}),
          inputs.u8({n, k / 32}, 112, 122)};
}

graph::Attrs attrs_of(const char* wfmt, Ints kb, Ints nb, DType out = DType::kF32, const char* order = "v16") {
  return {{"wfmt", graph::Word{wfmt}}, {"kb", kb}, {"nb", nb}, {"out", out}, {"order", graph::Word{order}}};
}

/// Largest sum of |w x| over the outputs: the scale of the error bound.
double largest_terms(const Case& c, const graph::Attrs& attrs) {
  Case plain{c.codes.clone(), c.scales.clone(), c.w.clone(), c.ws.clone()};
  const int mask = attrs.word("wfmt") == "e4m3" ? 0x7F : 0x77;
  for (auto& code : plain.codes.span<std::uint8_t>()) code &= 0x7F;
  for (auto& code : plain.w.span<std::uint8_t>()) code &= static_cast<std::uint8_t>(mask);
  const Tensor sums = std::move(truth(linear_blockquant_def, plain.in(), attrs)[0]);
  return *std::max_element(sums.span<double>().begin(), sums.span<double>().end());
}

void expect_follows_truth(const Case& c, const graph::Attrs& attrs) {
  const Tensor found = std::move(run(linear_blockquant_def, c.in(), attrs)[0]);
  const double k = static_cast<double>(c.codes.shape()[1]);
  const double relative = attrs.dtype("out") == DType::kF32 ? 0x1p-24 : kHalfUlpBF16 * 1.001;
  const double absolute = 2 * std::sqrt(k) * 0x1p-24 * largest_terms(c, attrs);
  EXPECT_LE(worst_excess(found, truth(linear_blockquant_def, c.in(), attrs)[0], absolute, relative), 0) << k;
}

TEST(LinearBlockquant, FollowsTruthOnManySizes) {
  Inputs inputs("linear_blockquant.sizes");
  for (const Ints k : {32, 96, 160, 512}) {
    for (const Ints n : {1, 31, 64, 97}) {
      for (const Ints tokens : {1, 3}) {
        for (const char* order : {"v16", "reference_blocks"}) {
          expect_follows_truth(make_fp8(inputs, tokens, n, k), attrs_of("e4m3", 32, 32, DType::kF32, order));
        }
        expect_follows_truth(make_fp4(inputs, tokens, n, k), attrs_of("e2m1", 32, 1));
      }
    }
  }
  expect_follows_truth(make_fp8(inputs, 2, 200, 256, 128, 128), attrs_of("e4m3", 128, 128));
  expect_follows_truth(make_fp8(inputs, 2, 200, 256, 128, 128), attrs_of("e4m3", 128, 128, DType::kBF16));
}

TEST(LinearBlockquant, Fp8IsOneV16ChainSetOverFoldedOperands) {
  Inputs inputs("linear_blockquant.bits");
  const Ints k = 320;
  const Case c = make_fp8(inputs, 2, 64, k);
  const Tensor found = std::move(run(linear_blockquant_def, c.in(), attrs_of("e4m3", 32, 32))[0]);
  for (Ints t = 0; t < 2; ++t) {
    for (Ints row = 0; row < 64; ++row) {
      const auto x = [&](Ints i) {
        return numeric::decode_e4m3fn(c.codes.as<std::uint8_t>()[t * k + i]) *
               numeric::decode_e8m0(c.scales.as<std::uint8_t>()[(t * k + i) / 32]) *
               numeric::decode_e8m0(c.ws.as<std::uint8_t>()[row / 32 * (k / 32) + i / 32]);
      };
      const auto w = [&](Ints i) { return numeric::decode_e4m3fn(c.w.as<std::uint8_t>()[row * k + i]); };
      ASSERT_EQ(found.as<float>()[t * 64 + row], numeric::v16_dot<numeric::ColumnMap::kE4M3>(k, x, w));
    }
  }
}

TEST(LinearBlockquant, RowsDoNotDependOnCompanions) {
  Inputs inputs("linear_blockquant.rows");
  const Case both = make_fp8(inputs, 2, 40, 64);
  const Case second{Tensor(DType::kU8, {1, 64}), Tensor(DType::kU8, {1, 2}), both.w.clone(), both.ws.clone()};
  std::copy_n(both.codes.as<std::uint8_t>() + 64, 64, second.codes.as<std::uint8_t>());
  std::copy_n(both.scales.as<std::uint8_t>() + 2, 2, second.scales.as<std::uint8_t>());
  const graph::Attrs attrs = attrs_of("e4m3", 32, 32);
  const Tensor alone = std::move(run(linear_blockquant_def, second.in(), attrs)[0]);
  const Tensor pair = std::move(run(linear_blockquant_def, both.in(), attrs)[0]);
  EXPECT_EQ(std::memcmp(alone.data(), pair.as<float>() + 40, 160), 0);
}

TEST(LinearBlockquant, NanActivationScaleReachesTheRowOnly) {
  Inputs inputs("linear_blockquant.nan");
  Case c = make_fp8(inputs, 2, 33, 64);
  c.scales.as<std::uint8_t>()[1] = 0xFF;
  const Tensor found = std::move(run(linear_blockquant_def, c.in(), attrs_of("e4m3", 32, 32))[0]);
  for (Ints i = 0; i < 66; ++i) EXPECT_EQ(std::isnan(found.as<float>()[i]), i < 33) << i;
}

TEST(LinearBlockquant, ChangedLayoutsGiveOtherResults) {
  Inputs inputs("linear_blockquant.controls");
  const Case c = make_fp4(inputs, 1, 32, 64);
  Case swapped = make_fp4(inputs, 1, 32, 64);
  swapped.codes = c.codes.clone();
  swapped.scales = c.scales.clone();
  swapped.ws = c.ws.clone();
  for (Ints i = 0; i < 32 * 32; ++i) {
    const int byte = c.w.as<std::uint8_t>()[i];
    swapped.w.as<std::uint8_t>()[i] = static_cast<std::uint8_t>((byte >> 4) | (byte << 4));
  }
  const graph::Attrs attrs = attrs_of("e2m1", 32, 1);
  const Tensor found = std::move(run(linear_blockquant_def, swapped.in(), attrs)[0]);
  EXPECT_GT(worst_excess(found, truth(linear_blockquant_def, c.in(), attrs)[0], 1e-3, 1e-3), 0);
}

TEST(LinearBlockquant, RefusesWrongTypes) {
  const auto infer = [](TensorType w, TensorType ws, const graph::Attrs& attrs) {
    const std::vector<TensorType> in{{DType::kU8, {2, 64}}, {DType::kU8, {2, 2}}, w, ws};
    return linear_blockquant_def.infer(in, attrs).has_value();
  };
  const TensorType w{DType::kF8E4M3FN, {40, 64}};
  EXPECT_TRUE(infer(w, {DType::kF8E8M0, {2, 2}}, attrs_of("e4m3", 32, 32)));
  EXPECT_FALSE(infer(w, {DType::kF8E8M0, {1, 2}}, attrs_of("e4m3", 32, 32)));
  EXPECT_FALSE(infer(w, {DType::kU8, {40, 2}}, attrs_of("e2m1", 32, 1)));
  EXPECT_FALSE(infer(w, {DType::kU8, {2, 2}}, attrs_of("e5m2", 32, 32)));
  EXPECT_FALSE(infer(w, {DType::kU8, {2, 4}}, attrs_of("e4m3", 16, 32)));
  EXPECT_FALSE(infer(w, {DType::kU8, {2, 2}}, attrs_of("e4m3", 32, 32, DType::kF32, "k_sequential")));
}

}  // namespace
}  // namespace deepinfer::ops::testing
