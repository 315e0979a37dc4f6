#include "ops/engram_gate/engram_gate.h"

#include "ops/testing/op_tester.h"
#include "tensor/numeric/transcendental.h"

namespace deepinfer::ops::testing {
namespace {

struct Site {
  Tensor streams, kv, wq, wk, mask;
  std::vector<const Tensor*> operands() const { return {&streams, &kv, &wq, &wk, &mask}; }
};

Site make_site(Inputs& inputs, std::int64_t tokens, std::int64_t streams, std::int64_t hidden) {
  return {inputs.bf16({tokens, streams, hidden}), inputs.bf16({tokens, (streams + 1) * hidden}),
          inputs.bf16({streams, hidden}), inputs.bf16({streams, hidden}), inputs.s32({tokens}, 1, 1)};
}

const graph::Attrs kAttrs{{"eps", 1e-20}};

TEST(EngramGate, FollowsTruthOnAllSizes) {
  Inputs inputs("engram_gate.sizes");
  for (const std::int64_t streams : {1, 2, 4}) {
    for (const std::int64_t hidden : {1, 16, 100, 128, 1280}) {
      const Site site = make_site(inputs, 3, streams, hidden);
      const auto out = run(engram_gate_def, site.operands(), kAttrs);
      const auto expected = truth(engram_gate_def, site.operands(), kAttrs);
      // A dot near zero costs the root some relative accuracy: the gate is good to 2e-5, the values are below 8.
      EXPECT_LE(worst_excess(out[0], expected[0], 1e-4, kHalfUlpBF16 * 1.001), 0) << streams << " " << hidden;
    }
  }
}

TEST(EngramGate, MaskedTokensPassThroughBitForBit) {
  Inputs inputs("engram_gate.mask");
  Site site = make_site(inputs, 3, 4, 64);
  site.mask.as<std::int32_t>()[1] = 0;
  site.streams.as<BF16>()[4 * 64] = to_bf16(-0.0F);
  for (auto& value : site.kv.span<BF16>().subspan(5 * 64, 5 * 64)) value = {0x7FC0};  // poisoned rows do not leak
  const auto out = run(engram_gate_def, site.operands(), kAttrs);
  for (std::int64_t i = 256; i < 512; ++i) EXPECT_EQ(out[0].as<BF16>()[i], site.streams.as<BF16>()[i]);
  EXPECT_NE(std::memcmp(out[0].data(), site.streams.data(), 512), 0);
}

TEST(EngramGate, ZeroDotCountsAsPlusClamp) {
  Inputs inputs("engram_gate.zero");
  Site site = make_site(inputs, 1, 2, 64);
  site.wq = Tensor::zeros(site.wq.type());
  const auto out = run(engram_gate_def, site.operands(), kAttrs);
  const float gate = numeric::sigmoid_f64(std::sqrt(1e-6F));
  for (std::int64_t i = 0; i < 128; ++i) {
    const float value = to_float(site.kv.as<BF16>()[128 + i % 64]);
    EXPECT_EQ(out[0].as<BF16>()[i], to_bf16(to_float(site.streams.as<BF16>()[i]) + gate * value));
  }
}

TEST(EngramGate, ZeroStreamsStayFinite) {
  Inputs inputs("engram_gate.zero_streams");
  Site site = make_site(inputs, 1, 4, 64);
  site.streams = Tensor::zeros(site.streams.type());
  const auto out = run(engram_gate_def, site.operands(), kAttrs);
  for (const BF16 value : out[0].span<BF16>()) EXPECT_TRUE(std::isfinite(to_float(value)));
}

TEST(EngramGate, RefusesWrongTypes) {
  const TensorType streams{DType::kBF16, {2, 4, 8}}, kv{DType::kBF16, {2, 40}}, w{DType::kBF16, {4, 8}};
  const TensorType mask{DType::kS32, {2}};
  EXPECT_TRUE(engram_gate_def.infer(std::vector{streams, kv, w, w, mask}, kAttrs));
  EXPECT_FALSE(engram_gate_def.infer(std::vector{streams, w, w, w, mask}, kAttrs));
  EXPECT_FALSE(engram_gate_def.infer(std::vector{streams, kv, kv, w, mask}, kAttrs));
  EXPECT_FALSE(engram_gate_def.infer(std::vector{streams, kv, w, kv, mask}, kAttrs));
  EXPECT_FALSE(engram_gate_def.infer(std::vector{streams, kv, w, w, w}, kAttrs));
  EXPECT_FALSE(engram_gate_def.infer(std::vector{streams, kv, w, w}, kAttrs));
}

}  // namespace
}  // namespace deepinfer::ops::testing
