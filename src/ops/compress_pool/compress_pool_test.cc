#include "ops/compress_pool/compress_pool.h"

#include "graph/eager_emitter.h"
#include "ops/testing/op_tester.h"
#include "tensor/numeric/exp32.h"

namespace deepinfer::ops::testing {
namespace {

constexpr std::int64_t kBase = 20;
constexpr std::int64_t kRing = 8;
constexpr std::int64_t kWidth = 24;

graph::Attrs ring_attrs() {
  return {{"owner", std::int64_t{2}}, {"base", kBase}, {"rows", kRing}};
}
Tensor s32(std::vector<std::int32_t> values) {
  return Tensor::from<std::int32_t>(DType::kS32, {static_cast<std::int64_t>(values.size())}, values);
}
Tensor rows_of(const Tensor& all, std::int64_t first, std::int64_t count) {
  return Tensor::from<float>(DType::kF32, {count, kWidth}, all.span<float>().subspan(first * kWidth, count * kWidth));
}
Tensor make_root(Inputs& inputs) { return inputs.u8({3, kBase + kRing * 8 * kWidth + 7}); }

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), a.type().bytes()) == 0;
}

/// numerics.md 6 for one channel.
BF16 pooled(float g0, float kv0, float g1, float kv1) {
  const float m = std::max(g0, g1);
  const float e0 = numeric::exp32(g0 - m);
  const float e1 = numeric::exp32(g1 - m);
  return to_bf16(std::fma(e1 / (e0 + e1), kv1, e0 / (e0 + e1) * kv0));
}

/// Tokens [first, first + count) of one sequence in ring slot 1, in one decode step.
std::vector<Tensor> step(const Tensor& kv, const Tensor& gate, const Tensor& root, std::int64_t first,
                         std::int64_t count) {
  std::vector<std::int32_t> pos, prev, odd;
  for (std::int64_t p = first; p < first + count; ++p) {
    pos.push_back(p % kRing);
    prev.push_back((p + kRing - 1) % kRing);
    odd.push_back(p % 2);
  }
  const Tensor kv_rows = rows_of(kv, first, count);
  const Tensor gate_rows = rows_of(gate, first, count);
  const Tensor slot = s32(std::vector<std::int32_t>(count, 1));
  const Tensor pos_rows = s32(pos);
  const Tensor prev_rows = s32(prev);
  const Tensor odd_rows = s32(odd);
  const std::vector<const Tensor*> in{&kv_rows, &gate_rows, &root, &slot, &pos_rows, &prev_rows, &odd_rows};
  auto out = run(compress_pool_def, in, ring_attrs());
  const auto exact = truth(compress_pool_def, in, ring_attrs());
  EXPECT_LE(worst_excess(out[0], exact[0], 1e-4, kHalfUlpBF16 * 1.01), 0);
  EXPECT_TRUE(same_bytes(out[1], exact[1]));
  return out;
}

TEST(CompressPool, TokensOfOneStepSeeEachOther) {
  Inputs inputs("compress_pool.steps");
  const Tensor kv = inputs.f32({40, kWidth});
  const Tensor gate = inputs.f32({40, kWidth}, 3);
  const Tensor start = make_root(inputs);
  for (const std::int64_t size : {1, 2, 3, 5, 6}) {  // 5 and 3: odd and even starts, pairs cut between steps
    Tensor root = start.clone();
    for (std::int64_t p = 0; p + size <= 40; p += size) {
      auto out = step(kv, gate, root, p, size);
      for (std::int64_t t = 0; t < size; ++t) {
        for (std::int64_t c = 0; c < kWidth; ++c) {
          const std::int64_t at = (p + t) * kWidth + c;
          const BF16 expected = (p + t) % 2 == 0 ? BF16{}
                                                 : pooled(gate.as<float>()[at - kWidth], kv.as<float>()[at - kWidth],
                                                          gate.as<float>()[at], kv.as<float>()[at]);
          ASSERT_EQ(out[0].as<BF16>()[t * kWidth + c], expected) << "step " << size << " position " << p + t;
        }
      }
      root = std::move(out[1]);
    }
    // Only slot 1's ring has changed.
    for (const std::int64_t other : {0, 2}) {
      const std::int64_t bytes = root.shape()[1];
      EXPECT_EQ(std::memcmp(root.as<std::uint8_t>() + other * bytes, start.as<std::uint8_t>() + other * bytes, bytes),
                0);
    }
    EXPECT_EQ(std::memcmp(root.as<std::uint8_t>() + root.shape()[1], start.as<std::uint8_t>() + root.shape()[1], kBase),
              0);
  }
}

TEST(CompressPool, RewritingAPositionReproduces) {
  Inputs inputs("compress_pool.rollback");
  const Tensor kv = inputs.f32({12, kWidth});
  const Tensor gate = inputs.f32({12, kWidth});
  const Tensor first = std::move(step(kv, gate, make_root(inputs), 0, 4)[1]);
  const auto once = step(kv, gate, first, 4, 2);
  const Tensor other_kv = inputs.f32({12, kWidth});
  const auto drafts = step(other_kv, gate, first, 4, 4);  // rejected
  const auto again = step(kv, gate, drafts[1], 4, 2);
  EXPECT_TRUE(same_bytes(once[0], again[0]));
}

TEST(CompressPool, ExtremeGates) {
  Inputs inputs("compress_pool.gates");
  const Tensor kv = inputs.f32({2, kWidth});
  Tensor gate = Tensor::zeros(kv.type());
  for (std::int64_t c = 0; c < kWidth; ++c) {
    gate.as<float>()[c] = c % 3 == 0 ? 0.25F : c % 3 == 1 ? 80.0F : -80.0F;
    gate.as<float>()[kWidth + c] = c % 3 == 0 ? 0.25F : c % 3 == 1 ? -80.0F : 80.0F;
  }
  const auto out = step(kv, gate, make_root(inputs), 0, 2);
  for (std::int64_t c = 0; c < kWidth; ++c) {
    const float a = kv.as<float>()[c];
    const float b = kv.as<float>()[kWidth + c];
    const float expected = c % 3 == 0 ? (a + b) / 2 : c % 3 == 1 ? a : b;
    EXPECT_NEAR(to_float(out[0].as<BF16>()[kWidth + c]), expected, std::abs(expected) * 0x1p-8F + 1e-6F);
  }
}

TEST(CompressPoolVarlen, EqualsTheDecodeForm) {
  Inputs inputs("compress_pool.varlen");
  const Tensor kv = inputs.f32({9, kWidth});
  const Tensor gate = inputs.f32({9, kWidth}, 2);
  const Tensor start = make_root(inputs);
  // Positions 0..2 were stored before; 3..8 come in one call: pairs (2,3), (4,5), (6,7), and 8 stays open.
  const auto before = step(kv, gate, start, 0, 3);
  const auto decode = step(kv, gate, before[1], 3, 6);
  const Tensor kv_rows = rows_of(kv, 3, 6);
  const Tensor gate_rows = rows_of(gate, 3, 6);
  const Tensor hist_slot = s32({1});
  const Tensor hist_pos = s32({2});
  const Tensor first = s32({0, 2, 4});
  const Tensor second = s32({1, 3, 5});
  const Tensor row = s32({0, 1, 2, 3, 4, 5});
  const Tensor slot = s32({1, 1, 1, 1, 1, 1});
  const Tensor pos = s32({3, 4, 5, 6, 7, 0});
  const std::vector<const Tensor*> in{&kv_rows, &gate_rows, &before[1], &hist_slot, &hist_pos,
                                      &first,   &second,    &row,       &slot,      &pos};
  const auto varlen = run(compress_pool_varlen_def, in, ring_attrs());
  EXPECT_TRUE(same_bytes(varlen[1], decode[1]));
  for (std::int64_t i = 0; i < 3; ++i) {
    EXPECT_EQ(std::memcmp(varlen[0].as<BF16>() + i * kWidth, decode[0].as<BF16>() + 2 * i * kWidth, kWidth * 2), 0);
  }
  const auto exact = truth(compress_pool_varlen_def, in, ring_attrs());
  EXPECT_LE(worst_excess(varlen[0], exact[0], 1e-4, kHalfUlpBF16 * 1.01), 0);
  EXPECT_TRUE(same_bytes(varlen[1], exact[1]));
  const auto stored = run(compress_store_def, {&kv_rows, &gate_rows, &before[1], &row, &slot, &pos}, ring_attrs());
  EXPECT_TRUE(same_bytes(stored[0], decode[1]));
  EXPECT_TRUE(same_bytes(
      stored[0], truth(compress_store_def, {&kv_rows, &gate_rows, &before[1], &row, &slot, &pos}, ring_attrs())[0]));
}

TEST(CompressPoolVarlen, ReadsHistoryBeforeItStores) {
  Inputs inputs("compress_pool.order");
  const Tensor kv = inputs.f32({2, kWidth});
  const Tensor gate = inputs.f32({2, kWidth});
  const auto before = step(kv, gate, make_root(inputs), 0, 1);
  const Tensor kv_row = rows_of(kv, 1, 1);
  const Tensor gate_row = rows_of(gate, 1, 1);
  const Tensor zero = s32({0});
  const Tensor one = s32({1});
  // The new token overwrites the history record it pools with.
  const auto out = run(compress_pool_varlen_def,
                       {&kv_row, &gate_row, &before[1], &one, &zero, &zero, &one, &zero, &one, &zero}, ring_attrs());
  for (std::int64_t c = 0; c < kWidth; ++c) {
    EXPECT_EQ(out[0].as<BF16>()[c], pooled(gate.as<float>()[c], kv.as<float>()[c], gate.as<float>()[kWidth + c],
                                           kv.as<float>()[kWidth + c]));
  }
}

TEST(CompressPool, EmitFunctionsUpdateTheRoot) {
  Inputs inputs("compress_pool.emit");
  const Tensor kv = inputs.f32({2, kWidth});
  const Tensor gate = inputs.f32({2, kWidth});
  const Tensor start = make_root(inputs);
  const auto expected = step(kv, gate, start, 0, 2);
  base::ThreadPool pool(1);
  graph::Scratch scratch;
  const Tensor slot = s32({1, 1});
  const Tensor pos = s32({0, 1});
  const Tensor prev = s32({7, 0});
  const Tensor row = s32({0, 1});
  const Tensor one = s32({1});
  const Tensor two = s32({2});
  for (const int form : {0, 1, 2}) {
    Tensor root = start.clone();
    graph::Bindings bindings;
    bindings.state["root"] = root.ref();
    graph::EagerEmitter e({&pool, &isa::scalar(), &scratch}, bindings);
    const graph::Value k = e.constant(kv);
    const graph::Value g = e.constant(gate);
    const graph::Value r = e.state("root", root.type());
    const graph::Value at_slot = e.constant(slot);
    const graph::Value at_pos = e.constant(pos);
    const RingView ring{2, kBase, kRing};
    if (form == 0) {
      const PoolResult out = compress_pool(e, {k, g, r, at_slot, at_pos, e.constant(prev), at_pos}, ring);
      EXPECT_TRUE(same_bytes(e.copy(out.latent), expected[0]));
    } else if (form == 1) {
      const PoolResult out = compress_pool_varlen(e,
                                                  {k, g, r, e.constant(one), e.constant(one), e.constant(one),
                                                   e.constant(two), e.constant(row), at_slot, at_pos},
                                                  ring);
      EXPECT_EQ(std::memcmp(e.copy(out.latent).data(), expected[0].as<BF16>() + kWidth, kWidth * 2), 0);
    } else {
      compress_store(e, {k, g, r, e.constant(row), at_slot, at_pos}, ring);
    }
    EXPECT_TRUE(same_bytes(root, expected[1])) << form;
  }
}

TEST(CompressPool, RefusesWrongTypes) {
  const TensorType rows{DType::kF32, {2, kWidth}};
  const TensorType root{DType::kU8, {3, kBase + kRing * 8 * kWidth}};
  const TensorType index{DType::kS32, {2}};
  const auto accepts = [](std::vector<TensorType> in) { return compress_pool_def.infer(in, ring_attrs()).has_value(); };
  EXPECT_TRUE(accepts({rows, rows, root, index, index, index, index}));
  EXPECT_FALSE(accepts({rows, rows, root, index, index, index}));
  EXPECT_FALSE(accepts({rows, rows, {DType::kU8, {3, kBase + kRing * 8 * kWidth - 1}}, index, index, index, index}));
  EXPECT_FALSE(accepts({rows, rows, root, index, index, index, {DType::kS32, {3}}}));
  EXPECT_FALSE(accepts({{DType::kBF16, {2, kWidth}}, rows, root, index, index, index, index}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
