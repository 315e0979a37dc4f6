#include "ops/gate_dense/gate_dense.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

graph::Attrs attrs(std::int64_t first, std::int64_t local) { return {{"first_expert", first}, {"num_local", local}}; }

TEST(GateDense, FollowsTruthForEveryShardOf384) {
  Inputs inputs("gate_dense.shards");
  Tensor ids(DType::kS32, {40, 6});
  for (std::int32_t i = 0; i < 240; ++i) ids.as<std::int32_t>()[i] = (i * 61 + i / 6) % 384;
  const Tensor weights = inputs.f32({40, 6});
  for (const std::int64_t ranks : {1, 2, 8}) {
    double total = 0;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      const graph::Attrs given = attrs(rank * 384 / ranks, 384 / ranks);
      const auto out = run(gate_dense_def, {&ids, &weights}, given);
      EXPECT_EQ(worst_excess(out[0], truth(gate_dense_def, {&ids, &weights}, given)[0], 0, 0), 0);
      for (const float value : out[0].span<float>()) total += value != 0 ? 1 : 0;
    }
    EXPECT_EQ(total, 240);
  }
}

TEST(GateDense, PaddingRowsGiveZeros) {
  const Tensor ids = Tensor::zeros({DType::kS32, {1, 6}});
  const Tensor weights = Tensor::zeros({DType::kF32, {1, 6}});
  const auto out = run(gate_dense_def, {&ids, &weights}, attrs(0, 8));
  for (const float value : out[0].span<float>()) EXPECT_EQ(value, 0.0F);
}

TEST(GateDense, RefusesWrongTypes) {
  const TensorType ids{DType::kS32, {2, 6}}, weights{DType::kF32, {2, 6}};
  EXPECT_TRUE(gate_dense_def.infer(std::vector{ids, weights}, attrs(0, 8)));
  EXPECT_FALSE(gate_dense_def.infer(std::vector{ids, ids}, attrs(0, 8)));
  EXPECT_FALSE(gate_dense_def.infer(std::vector{weights, weights}, attrs(0, 8)));
  EXPECT_FALSE(gate_dense_def.infer(std::vector{ids, weights}, attrs(-1, 8)));
  EXPECT_FALSE(gate_dense_def.infer(std::vector{ids, weights}, attrs(0, 0)));
}

}  // namespace
}  // namespace deepinfer::ops::testing
