#include "ops/primitives/primitives.h"

#include "graph/eager_emitter.h"
#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

std::vector<std::int64_t> ints(std::initializer_list<std::int64_t> values) { return values; }

TEST(Primitives, SliceFollowsTruthOnEveryAxis) {
  Inputs inputs("primitives.slice");
  const Tensor floats = inputs.bf16({3, 4, 5});
  const Tensor bytes = inputs.u8({3, 4, 5});
  for (const std::int64_t axis : {0, 1, 2}) {
    for (std::int64_t begin = 0; begin < 3; ++begin) {
      const graph::Attrs attrs{{"axis", axis}, {"begin", begin}, {"end", std::int64_t{3}}};
      EXPECT_LE(worst_excess(run(slice_def, {&floats}, attrs)[0], truth(slice_def, {&floats}, attrs)[0], 0, 0), 0);
      const Tensor found = std::move(run(slice_def, {&bytes}, attrs)[0]);
      const Tensor expected = std::move(truth(slice_def, {&bytes}, attrs)[0]);
      EXPECT_EQ(std::memcmp(found.data(), expected.data(), static_cast<std::size_t>(found.type().bytes())), 0);
    }
  }
}

TEST(Primitives, ConcatFollowsTruthOnEveryAxis) {
  Inputs inputs("primitives.concat");
  for (const std::int64_t axis : {0, 1, 2}) {
    std::vector<Tensor> parts;
    for (const std::int64_t extent : {1, 3, 2}) {
      parts.push_back(inputs.f32({axis == 0 ? extent : 2, axis == 1 ? extent : 4, axis == 2 ? extent : 3}));
    }
    const std::vector<const Tensor*> in{&parts[0], &parts[1], &parts[2]};
    const graph::Attrs attrs{{"axis", axis}};
    const Tensor found = std::move(run(concat_def, in, attrs)[0]);
    EXPECT_EQ(found.shape()[static_cast<int>(axis)], 6);
    EXPECT_LE(worst_excess(found, truth(concat_def, in, attrs)[0], 0, 0), 0);
  }
}

TEST(Primitives, GatherRowsCopiesRowsAndRefusesIndexOutside) {
  Inputs inputs("primitives.gather");
  const Tensor src = inputs.bf16({7, 2, 3});
  Tensor idx = inputs.s32({40}, 0, 6);
  EXPECT_LE(worst_excess(run(gather_rows_def, {&src, &idx})[0], truth(gather_rows_def, {&src, &idx})[0], 0, 0), 0);
  for (const std::int32_t bad : {-1, 7}) {
    idx.as<std::int32_t>()[39] = bad;
    EXPECT_THROW(call(gather_rows_def, {&src, &idx}, {}, {}, false), CheckFailure);
  }
}

TEST(Primitives, ViewsShareStorage) {
  Inputs inputs("primitives.views");
  base::ThreadPool pool(1);
  graph::Scratch scratch;
  const graph::Bindings bindings;
  graph::EagerEmitter e({&pool, &isa::scalar(), &scratch}, bindings);
  const graph::Value x = e.constant(inputs.f32({6, 4}));
  const graph::Value shaped = reshape(e, x, {3, 2, 4});
  const graph::Value rows = slice_rows(e, shaped, 1, 3);
  EXPECT_EQ(e.read(shaped).data, e.read(x).data);
  EXPECT_EQ(e.read(rows).as<float>(), e.read(x).as<float>() + 8);
  EXPECT_EQ(rows.shape(), Shape({2, 2, 4}));
}

TEST(Primitives, ViewsFollowTruth) {
  Inputs inputs("primitives.view_truth");
  const Tensor x = inputs.f32({6, 4});
  const graph::Attrs rows{{"begin", std::int64_t{2}}, {"end", std::int64_t{5}}};
  const Tensor expected = std::move(truth(slice_rows_def, {&x}, rows)[0]);
  const auto offset = slice_rows_def.view_offset(std::vector{x.type()}, rows) / 4;
  for (std::int64_t i = 0; i < 12; ++i) EXPECT_EQ(expected.as<double>()[i], x.as<float>()[offset + i]);
  const Tensor same = std::move(truth(reshape_def, {&x}, {{"shape", ints({24})}})[0]);
  for (std::int64_t i = 0; i < 24; ++i) EXPECT_EQ(same.as<double>()[i], x.as<float>()[i]);
}

TEST(Primitives, RefuseWrongTypes) {
  const TensorType x{DType::kBF16, {2, 8}};
  const std::int64_t zero = 0;
  const std::int64_t three = 3;
  EXPECT_FALSE(reshape_def.infer(std::vector{x}, {{"shape", ints({3, 5})}}));
  EXPECT_FALSE(slice_rows_def.infer(std::vector{x}, {{"begin", zero}, {"end", three}}));
  EXPECT_FALSE(slice_rows_def.infer(std::vector{x}, {{"begin", zero}, {"end", zero}}));
  EXPECT_FALSE(slice_def.infer(std::vector{x}, {{"axis", three}, {"begin", zero}, {"end", three}}));
  EXPECT_FALSE(concat_def.infer(std::vector{x, TensorType{DType::kBF16, {2, 7}}}, {{"axis", zero}}));
  EXPECT_FALSE(concat_def.infer(std::vector{x, TensorType{DType::kF32, {2, 8}}}, {{"axis", zero}}));
  EXPECT_FALSE(gather_rows_def.infer(std::vector{x, x}, {}));
}

}  // namespace
}  // namespace deepinfer::ops::testing
