#include "ops/stream_mean/stream_mean.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

TEST(StreamMean, FollowsTruthOnAllSizes) {
  Inputs inputs("stream_mean.sizes");
  for (const std::int64_t streams : {1, 2, 3, 4}) {
    for (const std::int64_t hidden : {1, 33, 512}) {
      const Tensor x = inputs.bf16({3, streams, hidden});
      const auto out = run(stream_mean_def, {&x});
      EXPECT_LE(worst_excess(out[0], truth(stream_mean_def, {&x})[0], 0x1p-20, kHalfUlpBF16 * 1.001), 0) << streams;
    }
  }
}

TEST(StreamMean, RefusesWrongTypes) {
  EXPECT_FALSE(stream_mean_def.infer(std::vector{TensorType{DType::kBF16, {2, 8}}}, {}));
  EXPECT_FALSE(stream_mean_def.infer(std::vector{TensorType{DType::kF32, {2, 4, 8}}}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
