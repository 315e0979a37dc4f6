#include "ops/rope/rope.h"

#include "ops/testing/op_tester.h"
#include "tensor/numeric/rope_table.h"

namespace deepinfer::ops::testing {
namespace {

struct Tables {
  Tensor cos, sin;
};

Tables make_tables(std::int64_t tokens, std::int64_t dim) {
  Tables out{Tensor(DType::kF32, {tokens, dim / 2}), Tensor(DType::kF32, {tokens, dim / 2})};
  const auto frequencies = numeric::rope_frequencies({.dim = dim});
  for (std::int64_t t = 0; t < tokens; ++t) {
    numeric::rope_row(frequencies, 1000 * t + 3, out.cos.as<float>() + t * dim / 2, out.sin.as<float>() + t * dim / 2);
  }
  return out;
}

TEST(Rope, FollowsTruthForRowsAndHeads) {
  Inputs inputs("rope.truth");
  for (const bool conjugate : {false, true}) {
    for (const Shape& shape : {Shape{5, 3, 96}, Shape{4, 64}, Shape{2, 2, 2, 80}}) {
      const Tensor x = inputs.bf16(shape);
      const Tables tables = make_tables(shape[0], 64);
      const graph::Attrs attrs{{"conjugate", conjugate}};
      const std::vector<const Tensor*> in{&x, &tables.cos, &tables.sin};
      // fp32 products cancel: the absolute part covers three fp32 roundings of terms below 8.
      EXPECT_LE(worst_excess(run(rope_def, in, attrs)[0], truth(rope_def, in, attrs)[0], 0x1p-20, kHalfUlpBF16 * 1.01),
                0);
    }
  }
}

TEST(Rope, RotatesOnlyTheLastChannelsWithoutFma) {
  Inputs inputs("rope.bits");
  const Tensor x = inputs.bf16({1, 72});
  const Tables tables = make_tables(1, 8);
  const Tensor out = std::move(run(rope_def, {&x, &tables.cos, &tables.sin})[0]);
  for (int i = 0; i < 64; ++i) EXPECT_EQ(out.as<BF16>()[i], x.as<BF16>()[i]);
  for (int p = 0; p < 4; ++p) {
    const float x0 = to_float(x.as<BF16>()[64 + 2 * p]);
    const float x1 = to_float(x.as<BF16>()[65 + 2 * p]);
    const volatile float a = x0 * tables.cos.as<float>()[p];
    const volatile float b = x1 * tables.sin.as<float>()[p];
    EXPECT_EQ(out.as<BF16>()[64 + 2 * p], to_bf16(a - b));
  }
}

TEST(Rope, RefusesWrongTypes) {
  const TensorType x{DType::kBF16, {2, 3, 64}};
  const TensorType table{DType::kF32, {2, 32}};
  EXPECT_TRUE(rope_def.infer(std::vector{x, table, table}, {}));
  EXPECT_FALSE(rope_def.infer(std::vector{x, table, TensorType{DType::kF32, {2, 31}}}, {}));
  EXPECT_FALSE(rope_def.infer(std::vector{TensorType{DType::kBF16, {2, 62}}, table, table}, {}));
  EXPECT_FALSE(rope_def.infer(std::vector{TensorType{DType::kBF16, {3, 64}}, table, table}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
