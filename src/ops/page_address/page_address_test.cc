#include "ops/page_address/page_address.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(PageAddress, FollowsTruth) {
  Inputs inputs("page_address.truth");
  for (const std::int64_t rows : {1, 3, 64}) {
    const graph::Attrs attrs{{"rows", rows}};
    const Tensor ids = inputs.s32({4, 37}, 0, static_cast<std::int32_t>(5 * rows - 1));
    const Tensor table = inputs.s32({4, 5}, 0, 1000);
    const auto found = run(page_address_def, {&ids, &table}, attrs);
    const auto expected = truth(page_address_def, {&ids, &table}, attrs);
    for (int r = 0; r < 2; ++r) EXPECT_EQ(std::memcmp(found[r].data(), expected[r].data(), 4 * 37 * 4), 0) << rows;
  }
}

TEST(PageAddress, IdsOutsideTheTableAreChecked) {
  const Tensor table = Tensor::zeros({DType::kS32, {1, 2}});
  for (const std::int32_t id : {-1, 8}) {
    const Tensor ids = Tensor::from<std::int32_t>(DType::kS32, {1, 1}, std::vector{id});
    EXPECT_THROW(call(page_address_def, {&ids, &table}, {{"rows", std::int64_t{4}}}, {}, false), CheckFailure);
  }
}

TEST(PageAddress, RefusesWrongTypes) {
  const TensorType ids{DType::kS32, {2, 4}};
  const graph::Attrs attrs{{"rows", std::int64_t{4}}};
  EXPECT_FALSE(page_address_def.infer(std::vector{ids, TensorType{DType::kS32, {3, 4}}}, attrs));
  EXPECT_FALSE(page_address_def.infer(std::vector{ids, TensorType{DType::kU8, {2, 4}}}, attrs));
  EXPECT_FALSE(page_address_def.infer(std::vector{ids, ids}, {{"rows", std::int64_t{0}}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
