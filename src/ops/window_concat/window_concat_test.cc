#include "ops/window_concat/window_concat.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

const StateView kView{.kind = "swa", .owner = 1, .base = 32, .rows = 10, .row_bytes = 18};

TEST(WindowConcat, HistoryThenNewRows) {
  Inputs inputs("window_concat.rows");
  const Tensor root = inputs.u8({4, 220});
  const Tensor rows = inputs.u8({7, 18});
  for (const std::int64_t history : {1, 33}) {
    const Tensor slot = inputs.s32({history}, 0, 3);
    const Tensor pos = inputs.s32({history}, 0, 9);
    const std::vector<const Tensor*> in{&root, &slot, &pos, &rows};
    const Tensor found = std::move(run(window_concat_def, in, view_attrs(kView))[0]);
    const Tensor expected = std::move(truth(window_concat_def, in, view_attrs(kView))[0]);
    EXPECT_EQ(found.shape(), Shape({history + 7, 18}));
    EXPECT_EQ(std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.type().bytes())), 0);
  }
}

TEST(WindowConcat, AddressesOutsideTheViewAreChecked) {
  Inputs inputs("window_concat.outside");
  const Tensor root = inputs.u8({4, 220});
  const Tensor rows = inputs.u8({1, 18});
  const Tensor slot = inputs.s32({1}, 0, 3);
  const Tensor pos = inputs.s32({1}, 10, 10);
  EXPECT_THROW(call(window_concat_def, {&root, &slot, &pos, &rows}, view_attrs(kView), {}, false), CheckFailure);
}

TEST(WindowConcat, RefusesWrongTypes) {
  const TensorType index{DType::kS32, {2}};
  const TensorType rows{DType::kU8, {5, 18}};
  EXPECT_TRUE(window_concat_def.infer(std::vector{TensorType{DType::kU8, {4, 212}}, index, index, rows},
                                      view_attrs(kView)));
  EXPECT_FALSE(window_concat_def.infer(std::vector{TensorType{DType::kU8, {4, 211}}, index, index, rows},
                                       view_attrs(kView)));
}

}  // namespace
}  // namespace deepinfer::ops::testing
