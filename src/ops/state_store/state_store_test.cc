#include "ops/state_store/state_store.h"

#include "graph/eager_emitter.h"
#include "ops/testing/op_tester.h"

namespace deepinfer::ops::testing {
namespace {

const StateView kView{.kind = "swa", .owner = 2, .base = 5, .rows = 4, .row_bytes = 24};

Tensor ints(std::vector<std::int32_t> values) {
  return Tensor::from<std::int32_t>(DType::kS32, {static_cast<std::int64_t>(values.size())}, values);
}
graph::Attrs gather_attrs() {
  graph::Attrs attrs = view_attrs(kView);
  attrs.set("row_bytes", kView.row_bytes);
  return attrs;
}
bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::memcmp(a.data(), b.data(), static_cast<std::size_t>(a.type().bytes())) == 0;
}

TEST(StateStore, WritesTheRecordsAndNothingElse) {
  Inputs inputs("state_store.records");
  const Tensor root = inputs.u8({3, 110});
  const Tensor slot = ints({2, 0, 2});
  const Tensor pos = ints({3, 0, 1});
  const Tensor rows = inputs.u8({3, 24});
  const std::vector<const Tensor*> in{&root, &slot, &pos, &rows};
  const Tensor found = std::move(run(state_store_def, in, view_attrs(kView))[0]);
  EXPECT_TRUE(same_bytes(found, truth(state_store_def, in, view_attrs(kView))[0]));
  std::int64_t changed = 0;
  for (std::int64_t i = 0; i < 330; ++i) changed += found.as<std::uint8_t>()[i] != root.as<std::uint8_t>()[i];
  EXPECT_GT(changed, 0);
  EXPECT_LE(changed, 72);
  const Tensor back = std::move(run(state_gather_def, {&found, &slot, &pos}, gather_attrs())[0]);
  EXPECT_TRUE(same_bytes(back, rows));
  EXPECT_TRUE(same_bytes(back, truth(state_gather_def, {&found, &slot, &pos}, gather_attrs())[0]));
}

TEST(StateStore, LaterRowWinsOnEqualAddresses) {
  Inputs inputs("state_store.later");
  const Tensor root = Tensor::zeros({DType::kU8, {1, 110}});
  const Tensor at = ints({0, 0, 0});
  const Tensor rows = inputs.u8({3, 24});
  const Tensor found = std::move(run(state_store_def, {&root, &at, &at, &rows}, view_attrs(kView))[0]);
  EXPECT_EQ(std::memcmp(found.as<std::uint8_t>() + 5, rows.as<std::uint8_t>() + 48, 24), 0);
}

TEST(StateStore, UpdatesTheBoundRootThroughAnEmitter) {
  Inputs inputs("state_store.emitter");
  Tensor root = Tensor::zeros({DType::kU8, {2, 110}});
  graph::Bindings bindings;
  bindings.state["kv_states"] = root.ref();
  base::ThreadPool pool(1);
  graph::Scratch scratch;
  graph::EagerEmitter e({&pool, &isa::scalar(), &scratch}, bindings);
  const RecordAddress at{e.constant(ints({1})), e.constant(ints({2}))};
  const Tensor rows = inputs.u8({1, 24});
  const graph::Value next = state_store(e, e.state("kv_states", root.type()), at, e.constant(rows), kView);
  EXPECT_TRUE(same_bytes(e.copy(state_gather(e, next, at, kView)), rows));
  EXPECT_EQ(std::memcmp(root.as<std::uint8_t>() + 110 + 5 + 48, rows.data(), 24), 0);
}

TEST(StateStore, AddressesOutsideTheViewAreChecked) {
  Inputs inputs("state_store.outside");
  const Tensor root = inputs.u8({3, 110});
  const Tensor rows = inputs.u8({1, 24});
  const Tensor fine = ints({1});
  for (const auto& [slot, pos] : {std::pair{3, 0}, {-1, 0}, {0, 4}, {0, -1}}) {
    const Tensor slots = ints({slot});
    const Tensor positions = ints({pos});
    EXPECT_THROW(call(state_store_def, {&root, &slots, &positions, &rows}, view_attrs(kView), {}, false), CheckFailure);
    EXPECT_THROW(call(state_gather_def, {&root, &slots, &positions}, gather_attrs(), {}, false), CheckFailure);
  }
}

TEST(StateStore, RefusesViewsThatDoNotFit) {
  const TensorType index{DType::kS32, {2}};
  const auto infer = [&](std::int64_t root_bytes, std::int64_t num_rows) {
    const std::vector<TensorType> in{{DType::kU8, {3, root_bytes}}, index, index, {DType::kU8, {num_rows, 24}}};
    return state_store_def.infer(in, view_attrs(kView)).has_value();
  };
  EXPECT_TRUE(infer(101, 2));
  EXPECT_FALSE(infer(100, 2));
  EXPECT_FALSE(infer(101, 3));
}

}  // namespace
}  // namespace deepinfer::ops::testing
