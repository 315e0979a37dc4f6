#include "ops/gate_topk/gate_topk.h"

#include <algorithm>
#include <set>

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

struct Gate {
  Tensor scores, bias, valid, force, token_index, bias_vl, image;
  std::vector<const Tensor*> text() const { return {&scores, &bias, &valid, &force, &token_index}; }
  std::vector<const Tensor*> vision() const { return {&scores, &bias, &valid, &force, &token_index, &bias_vl, &image}; }
};

Gate make_gate(Inputs& inputs, std::int64_t tokens, std::int64_t experts) {
  Gate gate{inputs.f32({tokens, experts}), inputs.f32({experts}, 0.1), inputs.s32({tokens}, 1, 1),
            inputs.s32({tokens}, 0, 0),    inputs.s32({tokens}, 0, 0), inputs.f32({experts}, 0.5),
            inputs.s32({tokens}, 0, 1)};
  for (float& score : gate.scores.span<float>()) score = std::abs(score);
  for (std::int32_t t = 0; t < tokens; ++t) gate.token_index.as<std::int32_t>()[t] = t;
  return gate;
}

graph::Attrs attrs(std::int64_t k, std::int64_t layer = 3) {
  return {{"k", k}, {"route_scale", 1.5}, {"layer", layer}};
}

void expect_truth(const std::vector<const Tensor*>& in, const graph::Attrs& given) {
  const auto out = run(gate_topk_def, in, given);
  const auto expected = truth(gate_topk_def, in, given);
  EXPECT_TRUE(std::ranges::equal(out[0].span<std::int32_t>(), expected[0].span<std::int32_t>()));
  EXPECT_LE(worst_excess(out[1], expected[1], 0, 1e-6), 0);
}

TEST(GateTopk, FollowsTruthOnAllSizes) {
  Inputs inputs("gate_topk.sizes");
  for (const std::int64_t experts : {1, 4, 6, 128, 384}) {
    for (const std::int64_t k : {1, 2, 6, 8}) {
      if (k > experts) continue;
      const Gate gate = make_gate(inputs, 9, experts);
      expect_truth(gate.text(), attrs(k));
      expect_truth(gate.vision(), attrs(k));
      graph::Attrs plain = attrs(k);
      plain.set("renorm", false);
      expect_truth(gate.text(), plain);
    }
  }
}

TEST(GateTopk, TiesGoToTheLowerId) {
  Inputs inputs("gate_topk.ties");
  Gate gate = make_gate(inputs, 4, 384);
  for (float& bias : gate.bias.span<float>()) bias = 0;
  for (std::int64_t i = 0; i < 384; ++i) {
    gate.scores.as<float>()[i] = 1;                             // all equal: 0..5
    gate.scores.as<float>()[384 + i] = i >= 100 ? 2.0F : 1.0F;  // 100..105
    gate.scores.as<float>()[768 + i] = i == 383 || i == 7 ? 3.0F : 1.0F;
    gate.scores.as<float>()[1152 + i] = 0;  // no score at all: weights 0, still distinct ids
  }
  const auto out = run(gate_topk_def, gate.text(), attrs(6));
  const std::vector<std::int32_t> expected = {0, 1, 2, 3, 4, 5,   100, 101, 102, 103, 104, 105,
                                              0, 1, 2, 3, 7, 383, 0,   1,   2,   3,   4,   5};
  EXPECT_TRUE(std::ranges::equal(out[0].span<std::int32_t>(), expected));
  for (std::int64_t j = 0; j < 6; ++j) EXPECT_EQ(out[1].as<float>()[18 + j], 0.0F);
  expect_truth(gate.text(), attrs(6));
}

TEST(GateTopk, WeightsComeFromUnbiasedScores) {
  const std::array<float, 4> scores = {1, 2, 3, 4};
  const std::array<float, 4> bias = {10, 9, 0, 0};
  const std::array<std::int32_t, 1> one = {1}, zero = {0};
  const Tensor s = Tensor::from<float>(DType::kF32, {1, 4}, scores), b = Tensor::from<float>(DType::kF32, {4}, bias);
  const Tensor on = Tensor::from<std::int32_t>(DType::kS32, {1}, one);
  const Tensor off = Tensor::from<std::int32_t>(DType::kS32, {1}, zero);
  const auto out = run(gate_topk_def, {&s, &b, &on, &off, &off}, attrs(2));
  EXPECT_EQ(out[0].as<std::int32_t>()[0], 0);
  EXPECT_EQ(out[0].as<std::int32_t>()[1], 1);
  EXPECT_EQ(out[1].as<float>()[0], 1.0F / 3.0F * 1.5F);
  EXPECT_EQ(out[1].as<float>()[1], 2.0F / 3.0F * 1.5F);
}

TEST(GateTopk, PaddingRowsGetNothing) {
  Inputs inputs("gate_topk.padding");
  Gate gate = make_gate(inputs, 3, 384);
  gate.valid.as<std::int32_t>()[1] = 0;
  gate.force.as<std::int32_t>()[1] = 1;
  for (std::int64_t e = 0; e < 384; ++e) gate.scores.as<float>()[384 + e] = std::nanf("");
  const auto out = run(gate_topk_def, gate.text(), attrs(6));
  for (std::int64_t j = 6; j < 12; ++j) {
    EXPECT_EQ(out[0].as<std::int32_t>()[j], 0);
    EXPECT_EQ(out[1].as<float>()[j], 0.0F);
  }
}

TEST(GateTopk, ForcedRoutingLoadsEveryExpertExactlyKTimes) {
  Inputs inputs("gate_topk.force");
  Gate gate = make_gate(inputs, 384, 384);
  for (auto& force : gate.force.span<std::int32_t>()) force = 1;
  for (const std::int64_t layer : {0, 1, 19, 42}) {
    for (const std::int32_t first : {0, 1, 383, 3712, 4096, 40961}) {  // runs of 384 inside one window of 4096
      for (std::int32_t t = 0; t < 384; ++t) gate.token_index.as<std::int32_t>()[t] = first + t;
      const auto out = call(gate_topk_def, gate.text(), attrs(6, layer), {}, false);
      std::vector<int> load(384);
      for (const std::int32_t id : out[0].span<std::int32_t>()) ++load[static_cast<std::size_t>(id)];
      EXPECT_TRUE(std::ranges::all_of(load, [](int count) { return count == 6; })) << layer << " " << first;
      for (std::int64_t t = 0; t < 384; ++t) {
        const auto* ids = out[0].as<std::int32_t>() + t * 6;
        EXPECT_EQ((std::set<std::int32_t>(ids, ids + 6).size()), 6U);
        EXPECT_TRUE(std::is_sorted(ids, ids + 6));
      }
      for (const float weight : out[1].span<float>()) EXPECT_EQ(weight, 0.25F);
    }
  }
  expect_truth(gate.text(), attrs(6));
}

TEST(GateTopk, CoprimeConstants) {
  EXPECT_EQ(coprime_from(1597, 384), 1597);
  EXPECT_EQ(coprime_from(61, 384), 61);
  EXPECT_EQ(coprime_from(61, 122), 63);
}

TEST(GateTopk, RefusesWrongTypesAndCounts) {
  const TensorType scores{DType::kF32, {2, 8}}, bias{DType::kF32, {8}}, flag{DType::kS32, {2}};
  const auto infer = [&](std::vector<TensorType> in, const graph::Attrs& given) {
    return gate_topk_def.infer(in, graph::complete_attrs(gate_topk_def.attrs, given).value()).has_value();
  };
  EXPECT_TRUE(infer({scores, bias, flag, flag, flag}, attrs(6)));
  EXPECT_TRUE(infer({scores, bias, flag, flag, flag, bias, flag}, attrs(6)));
  EXPECT_FALSE(infer({scores, bias, flag, flag, flag, bias}, attrs(6)));
  EXPECT_FALSE(infer({scores, flag, flag, flag, flag}, attrs(6)));
  EXPECT_FALSE(infer({scores, bias, bias, flag, flag}, attrs(6)));
  EXPECT_FALSE(infer({scores, bias, flag, flag, flag}, attrs(9)));
  EXPECT_FALSE(infer({scores, bias, flag, flag, flag}, attrs(0)));
  graph::Attrs repeating = attrs(6);
  repeating.set("hash_step", std::int64_t{4});
  EXPECT_FALSE(infer({scores, bias, flag, flag, flag}, repeating));
}

}  // namespace
}  // namespace deepinfer::ops::testing
