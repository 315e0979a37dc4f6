#include "ops/moe_experts_dense/moe_experts_dense.h"

#include "ops/gate_dense/gate_dense.h"
#include "ops/gate_topk/gate_topk.h"
#include "ops/testing/op_tester.h"
#include "tensor/numeric/quantise.h"

namespace deepinfer::ops::testing {
namespace {

struct Layer {
  Tensor codes, scales, w, w1, w1s, w3, w3s, w2, w2s;
  std::vector<const Tensor*> operands() const { return {&codes, &scales, &w, &w1, &w1s, &w3, &w3s, &w2, &w2s}; }
};

struct Sizes {
  std::int64_t tokens, experts, hidden, width;
};

Layer make_layer(Inputs& inputs, const Sizes& z) {
  Layer layer{Tensor(DType::kU8, {z.tokens, z.hidden}),
              Tensor(DType::kU8, {z.tokens, z.hidden / 32}),
              Tensor::zeros({DType::kF32, {z.tokens, z.experts}}),
              inputs.u8({z.experts, z.width, z.hidden / 2}),
              inputs.u8({z.experts, z.width, z.hidden / 32}, 121, 125),
              inputs.u8({z.experts, z.width, z.hidden / 2}),
              inputs.u8({z.experts, z.width, z.hidden / 32}, 121, 125),
              inputs.u8({z.experts, z.hidden, z.width / 2}),
              inputs.u8({z.experts, z.hidden, z.width / 32}, 121, 125)};
  const Tensor x = inputs.bf16({z.tokens, z.hidden});
  numeric::act_quant32(std::span<const BF16>(x.span<BF16>()), 448, layer.codes.as<std::uint8_t>(),
                       layer.scales.as<std::uint8_t>());
  return layer;
}

float& weight(const Layer& layer, std::int64_t t, std::int64_t e) {
  return layer.w.as<float>()[t * layer.w.shape()[1] + e];
}

const graph::Attrs kAttrs{{"limit", 10.0}};

/// A bf16 rounding that falls the other way moves an e4m3 code by one step (2^-3) of one of `width` terms, so the bound
/// is a share of the largest output; the bits are checked by the tests below.
void expect_truth(const Layer& layer, double share) {
  const auto out = run(moe_experts_dense_def, layer.operands(), kAttrs);
  const auto expected = truth(moe_experts_dense_def, layer.operands(), kAttrs);
  double largest = 0;
  for (const double value : expected[0].span<double>()) largest = std::max(largest, std::abs(value));
  EXPECT_GT(largest, 0);
  EXPECT_LE(worst_excess(out[0], expected[0], share * largest, 0), 0) << largest;
}

TEST(MoeExpertsDense, FollowsTruthOnAllSizes) {
  Inputs inputs("moe.sizes");
  for (const Sizes& z : {Sizes{1, 1, 32, 32}, Sizes{3, 4, 64, 96}, Sizes{5, 8, 128, 64}, Sizes{2, 3, 160, 320}}) {
    Layer layer = make_layer(inputs, z);
    for (std::int64_t t = 0; t < z.tokens; ++t) {
      for (std::int64_t e = t % 2; e < z.experts; e += 2) weight(layer, t, e) = 0.25F + 0.5F * static_cast<float>(t);
      if (z.experts == 1) weight(layer, t, 0) = 0.5F;
    }
    expect_truth(layer, 0x1p-9);
  }
}

TEST(MoeExpertsDense, ReleasedRoutingOf384Experts) {
  Inputs inputs("moe.released");
  Layer layer = make_layer(inputs, {4, 384, 64, 32});
  Tensor scores = inputs.f32({4, 384});
  for (float& score : scores.span<float>()) score = std::abs(score);
  const Tensor bias = inputs.f32({384}, 0.1), on = inputs.s32({4}, 1, 1), off = inputs.s32({4}, 0, 0);
  const auto routed = run(gate_topk_def, {&scores, &bias, &on, &off, &off},
                          {{"k", std::int64_t{6}}, {"route_scale", 1.5}, {"layer", std::int64_t{0}}});
  auto dense = run(gate_dense_def, {&routed[0], &routed[1]},
                   {{"first_expert", std::int64_t{0}}, {"num_local", std::int64_t{384}}});
  layer.w = std::move(dense[0]);
  expect_truth(layer, 0x1p-9);
}

TEST(MoeExpertsDense, EmptyExpertAndOneWithAllTokens) {
  Inputs inputs("moe.extremes");
  Layer layer = make_layer(inputs, {6, 3, 64, 64});
  for (std::int64_t t = 0; t < 6; ++t) weight(layer, t, 1) = 1;
  expect_truth(layer, 0x1p-9);
  Layer nothing = make_layer(inputs, {6, 3, 64, 64});
  const auto out = run(moe_experts_dense_def, nothing.operands(), kAttrs);
  for (const float value : out[0].span<float>()) EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0U);
}

// The definition, op by op, with the scalar table: bit equality.
TEST(MoeExpertsDense, SumsRoundedExpertsInAscendingId) {
  Inputs inputs("moe.order");
  const Layer layer = make_layer(inputs, {2, 4, 64, 32});
  for (const auto& [t, e, w] : {std::tuple{0, 0, 0.5F}, {0, 1, 1.25F}, {0, 3, -0.75F}, {1, 2, 2.0F}})
    weight(layer, t, e) = w;
  const auto out = run(moe_experts_dense_def, layer.operands(), kAttrs);
  std::vector<float> sum(128);
  for (std::int64_t e = 0; e < 4; ++e) {
    for (std::int64_t t = 0; t < 2; ++t) {
      if (weight(layer, t, e) == 0) continue;
      Tensor alone = Tensor::zeros(layer.w.type());
      alone.as<float>()[t * 4 + e] = weight(layer, t, e);
      auto operands = layer.operands();
      operands[2] = &alone;
      const auto one = call(moe_experts_dense_def, operands, kAttrs, {}, false);
      for (std::size_t i = 0; i < 128; ++i) {
        EXPECT_EQ(one[0].as<float>()[i], round_bf16(one[0].as<float>()[i]));  // one expert: its bf16 output
        sum[i] += one[0].as<float>()[i];
      }
    }
  }
  for (std::size_t i = 0; i < 128; ++i) EXPECT_EQ(out[0].as<float>()[i], sum[i]);
}

TEST(MoeExpertsDense, RowsWithoutWeightDoNotMatterEvenWhenPoisoned) {
  Inputs inputs("moe.poison");
  Layer layer = make_layer(inputs, {3, 2, 64, 32});
  weight(layer, 0, 0) = 1;
  weight(layer, 2, 1) = 0.5F;
  const auto clean = run(moe_experts_dense_def, layer.operands(), kAttrs);
  for (std::int64_t i = 64; i < 128; ++i) layer.codes.as<std::uint8_t>()[i] = 0x7F;
  layer.scales.as<std::uint8_t>()[2] = layer.scales.as<std::uint8_t>()[3] = 0xFF;
  const auto poisoned = run(moe_experts_dense_def, layer.operands(), kAttrs);
  EXPECT_EQ(std::memcmp(clean[0].data(), poisoned[0].data(), 3 * 64 * 4), 0);
}

TEST(MoeExpertsDense, SegmentedMatricesGiveTheSameBits) {
  Inputs inputs("moe.segments");
  const Layer layer = make_layer(inputs, {2, 3, 64, 32});
  for (std::int64_t e = 0; e < 3; ++e) weight(layer, e % 2, e) = 1;
  const auto whole = run(moe_experts_dense_def, layer.operands(), kAttrs);
  std::vector<ConstTensorRef> refs;
  std::vector<std::vector<const void*>> segments;
  for (const Tensor* tensor : layer.operands()) {
    refs.push_back(tensor->ref());
    const ConstTensorRef& ref = refs.back();
    segments.emplace_back();
    for (std::int64_t e = 0; e < ref.type.shape[0]; ++e) segments.back().push_back(ref.slice<std::uint8_t>(e));
  }
  for (std::size_t i = 3; i < refs.size(); ++i) {
    refs[i].segments = segments[i].data();
    refs[i].data = nullptr;
  }
  const Tensor out(DType::kF32, {2, 64});
  const std::array results{out.ref()};
  base::ThreadPool pool(2);
  graph::Scratch scratch;
  graph::KernelContext ctx{&pool, &isa::scalar(), &scratch};
  const auto attrs = graph::complete_attrs(moe_experts_dense_def.attrs, kAttrs).value();
  moe_experts_dense_def.kernel(graph::OpCall{refs, results, attrs, ctx});
  EXPECT_EQ(std::memcmp(out.data(), whole[0].data(), 2 * 64 * 4), 0);
}

TEST(MoeExpertsDense, RefusesWrongTypes) {
  Inputs inputs("moe.types");
  const Layer layer = make_layer(inputs, {2, 3, 64, 32});
  std::vector<TensorType> types;
  for (const Tensor* tensor : layer.operands()) types.push_back(tensor->type());
  EXPECT_TRUE(moe_experts_dense_def.infer(types, kAttrs));
  types[3].dtype = DType::kS8;  // how the checkpoint names packed codes
  EXPECT_TRUE(moe_experts_dense_def.infer(types, kAttrs));
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::vector<TensorType> wrong = types;
    wrong[i].dtype = DType::kS32;
    EXPECT_FALSE(moe_experts_dense_def.infer(wrong, kAttrs)) << i;
    wrong[i] = TensorType{types[i].dtype, {2, 7}};
    EXPECT_FALSE(moe_experts_dense_def.infer(wrong, kAttrs)) << i;
  }
}

}  // namespace
}  // namespace deepinfer::ops::testing
