#include "ops/kv_pack/kv_pack.h"

#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

graph::Attrs pack_attrs(const char* kind, double max = 448) { return {{"kind", graph::Word{kind}}, {"max", max}}; }

TEST(KvPack, FollowsTheTableSearch) {
  Inputs inputs("kv_pack.search");
  for (const char* kind : {"swa", "ca", "ica"}) {
    for (const double scale : {1e-4, 1.0, 50.0}) {
      const Tensor x = inputs.bf16({5, 128}, scale);
      for (const double max : {448.0, 224.0}) {
        const Tensor found = std::move(run(kv_pack_def, {&x}, pack_attrs(kind, max))[0]);
        const Tensor expected = std::move(truth(kv_pack_def, {&x}, pack_attrs(kind, max))[0]);
        const auto bytes = static_cast<std::size_t>(found.type().bytes());
        EXPECT_EQ(std::memcmp(found.data(), expected.data(), bytes), 0) << kind;
      }
    }
  }
}

TEST(KvPack, RecordSizesOfTheReleasedModel) {
  const auto bytes = [](const char* kind, std::int64_t n) {
    return kv_pack_def.infer(std::vector{TensorType{DType::kBF16, {1, n}}}, pack_attrs(kind)).value()[0].shape[1];
  };
  EXPECT_EQ(bytes("swa", 512), 528);
  EXPECT_EQ(bytes("ca", 512), 288);
  EXPECT_EQ(bytes("ica", 128), 68);
}

TEST(KvUnpack, IsTheExactInverse) {
  Inputs inputs("kv_pack.inverse");
  for (const char* kind : {"swa", "ca", "ica"}) {
    const Tensor x = inputs.bf16({3, 64});
    const Tensor rows = std::move(run(kv_pack_def, {&x}, pack_attrs(kind))[0]);
    const graph::Attrs attrs{{"kind", graph::Word{kind}}, {"width", std::int64_t{64}}};
    const Tensor back = std::move(run(kv_unpack_def, {&rows}, attrs)[0]);
    EXPECT_LE(worst_excess(back, truth(kv_unpack_def, {&rows}, attrs)[0], 0, 0), 0) << kind;
    if (std::string(kind) != "ca") {  // power-of-two scales: the decoded values are on the grid of their own block
      const Tensor again = std::move(run(kv_pack_def, {&back}, pack_attrs(kind))[0]);
      const Tensor same = std::move(run(kv_unpack_def, {&again}, attrs)[0]);
      EXPECT_EQ(std::memcmp(same.data(), back.data(), static_cast<std::size_t>(back.type().bytes())), 0) << kind;
    }
  }
}

TEST(KvPack, RefusesWrongTypes) {
  EXPECT_FALSE(kv_pack_def.infer(std::vector{TensorType{DType::kBF16, {1, 48}}}, pack_attrs("swa")));
  EXPECT_TRUE(kv_pack_def.infer(std::vector{TensorType{DType::kBF16, {1, 48}}}, pack_attrs("ca")));
  EXPECT_FALSE(kv_pack_def.infer(std::vector{TensorType{DType::kBF16, {1, 64}}}, pack_attrs("ca_state")));
  const graph::Attrs unpack{{"kind", graph::Word{"swa"}}, {"width", std::int64_t{64}}};
  EXPECT_TRUE(kv_unpack_def.infer(std::vector{TensorType{DType::kU8, {1, 66}}}, unpack));
  EXPECT_FALSE(kv_unpack_def.infer(std::vector{TensorType{DType::kU8, {1, 64}}}, unpack));
}

}  // namespace
}  // namespace deepinfer::ops::testing
