#include "ops/grouped_einsum/grouped_einsum.h"

#include "ops/testing/op_tester.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops::testing {
namespace {

TEST(GroupedEinsum, FollowsTruthOnManySizes) {
  Inputs inputs("grouped_einsum.sizes");
  for (const std::int64_t k : {32, 96, 256}) {
    for (const std::int64_t rows : {16, 32, 72}) {  // groups of 16 rows share one scale block of 32
      const Tensor x = inputs.bf16({3, 4, k});
      const Tensor w = inputs.codes({4 * rows, k});
      const Tensor ws = inputs.u8({(4 * rows + 31) / 32, k / 32}, 115, 121);
      const std::vector<const Tensor*> in{&x, &w, &ws};
      const double terms = static_cast<double>(k) * 448 * 0x1p-6;
      const double bound = 2 * std::sqrt(static_cast<double>(k)) * 0x1p-24 * terms;
      EXPECT_LE(worst_excess(run(grouped_einsum_def, in)[0], truth(grouped_einsum_def, in)[0], bound,
                             kHalfUlpBF16 * 1.001), 0) << k << " " << rows;
    }
  }
}

TEST(GroupedEinsum, IsV16OverFoldedActivations) {
  Inputs inputs("grouped_einsum.bits");
  const std::int64_t k = 96;
  const Tensor x = inputs.bf16({2, 2, k});
  const Tensor w = inputs.codes({64, k});
  const Tensor ws = inputs.u8({2, 3}, 115, 121);
  const Tensor out = std::move(run(grouped_einsum_def, {&x, &w, &ws})[0]);
  for (std::int64_t i = 0; i < 128; ++i) {
    const std::int64_t row = i % 64;
    const float sum = numeric::v16_dot<numeric::ColumnMap::kE4M3>(
        k,
        [&](std::int64_t c) {
          return to_float(x.as<BF16>()[i / 32 * k + c]) *
                 numeric::decode_e8m0(ws.as<std::uint8_t>()[row / 32 * 3 + c / 32]);
        },
        [&](std::int64_t c) { return numeric::decode_e4m3fn(w.as<std::uint8_t>()[row * k + c]); });
    EXPECT_EQ(out.as<BF16>()[i], to_bf16(sum)) << i;
  }
}

TEST(GroupedEinsum, RefusesWrongTypes) {
  const auto infer = [](TensorType x, TensorType w, TensorType ws) {
    const graph::Attrs attrs{{"kb", std::int64_t{32}}, {"nb", std::int64_t{32}}};
    return grouped_einsum_def.infer(std::vector{x, w, ws}, attrs).has_value();
  };
  const TensorType x{DType::kBF16, {2, 4, 64}};
  EXPECT_TRUE(infer(x, {DType::kF8E4M3FN, {128, 64}}, {DType::kF8E8M0, {4, 2}}));
  EXPECT_FALSE(infer(x, {DType::kF8E4M3FN, {126, 64}}, {DType::kF8E8M0, {4, 2}}));
  EXPECT_FALSE(infer(x, {DType::kF8E4M3FN, {128, 64}}, {DType::kF8E8M0, {128, 2}}));
  EXPECT_FALSE(infer({DType::kU8, {2, 4, 64}}, {DType::kU8, {128, 64}}, {DType::kU8, {4, 2}}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
