#include "ops/engram_fetch/engram_fetch.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

Tensor make_ids(Inputs& inputs, std::int64_t count, std::int64_t columns, std::int32_t rows) {
  const Tensor narrow = inputs.s32({count, columns}, 0, rows - 1);
  Tensor ids(DType::kS64, narrow.shape());
  for (std::int64_t i = 0; i < count * columns; ++i) ids.as<std::int64_t>()[i] = narrow.as<std::int32_t>()[i];
  return ids;
}

TEST(EngramFetch, DequantisationIsExact) {
  Inputs inputs("engram_fetch.exact");
  for (const std::int64_t dim : {32, 256}) {
    const Tensor table = inputs.codes({50, dim});
    const Tensor scales = inputs.u8({50, dim / 32}, 100, 150);
    const Tensor ids = make_ids(inputs, 7, 24, 50);
    const auto out = run(engram_fetch_def, {&table, &scales, &ids});
    EXPECT_EQ(out[0].shape(), (Shape{7, 24 * dim}));
    EXPECT_EQ(worst_excess(out[0], truth(engram_fetch_def, {&table, &scales, &ids})[0], 0, 0), 0);
  }
}

TEST(EngramFetch, RefusesRowsOutside) {
  Inputs inputs("engram_fetch.outside");
  const Tensor table = inputs.codes({4, 32}), scales = inputs.u8({4, 1}, 120, 130);
  const EngramTable view{table.as<std::uint8_t>(), scales.as<std::uint8_t>(), 4, 32};
  std::array<BF16, 32> out;
  for (const std::int64_t id : {std::int64_t{-1}, std::int64_t{4}, std::int64_t{1} << 32}) {
    EXPECT_THROW(engram_fetch(view, std::array{id}, out.data()), CheckFailure) << id;
  }
  engram_fetch(view, std::array{std::int64_t{3}}, out.data());
}

TEST(EngramFetch, RefusesWrongTypes) {
  const TensorType table{DType::kF8E4M3FN, {4, 64}}, scales{DType::kF8E8M0, {4, 2}}, ids{DType::kS64, {1, 3}};
  EXPECT_TRUE(engram_fetch_def.infer(std::vector{table, scales, ids}, {}));
  EXPECT_FALSE(engram_fetch_def.infer(std::vector{table, table, ids}, {}));
  EXPECT_FALSE(engram_fetch_def.infer(std::vector{table, scales, TensorType{DType::kS32, {1, 3}}}, {}));
  EXPECT_FALSE(engram_fetch_def.infer(std::vector{TensorType{DType::kU8, {4, 48}}, scales, ids}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
