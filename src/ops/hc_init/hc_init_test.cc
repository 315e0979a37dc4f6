#include "ops/hc_init/hc_init.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(HcInit, CopiesIntoEveryStreamAndPicksTheFirst) {
  Inputs inputs("hc_init.copies");
  for (const std::int64_t streams : {1, 2, 4}) {
    const Tensor x = inputs.bf16({3, 20});
    const graph::Attrs attrs{{"streams", streams}};
    const auto out = run(hc_init_def, {&x}, attrs);
    const auto expected = truth(hc_init_def, {&x}, attrs);
    EXPECT_EQ(worst_excess(out[0], expected[0], 0, 0), 0) << streams;
    EXPECT_EQ(worst_excess(out[1], expected[1], 0, 0), 0) << streams;
  }
}

TEST(HcInit, RefusesWrongTypes) {
  EXPECT_FALSE(hc_init_def.infer(std::vector{TensorType{DType::kF32, {1, 8}}}, {{"streams", std::int64_t{4}}}));
  EXPECT_FALSE(hc_init_def.infer(std::vector{TensorType{DType::kBF16, {1, 8}}}, {{"streams", std::int64_t{0}}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
