#include "device/host/host_executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "base/io.h"
#include "graph/testing/toy_ops.h"
#include "graph/text.h"
#include "graph/trace_emitter.h"
#include "ops/isa/isa.h"
#include "ops/registry.h"
#include "ops/rmsnorm/rmsnorm.h"
#include "ops/testing/op_tester.h"

namespace {
std::atomic<std::int64_t> num_allocations{0};
}  // namespace

// Sanitizers bring their own operators and check that both sides match, so nothing is counted there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsAllocations = false;
#else
constexpr bool kCountsAllocations = true;

static void* counted(std::size_t bytes, std::size_t align) {
  ++num_allocations;
  void* out = std::aligned_alloc(align, (std::max<std::size_t>(bytes, 1) + align - 1) / align * align);
  if (out == nullptr) throw std::bad_alloc();
  return out;
}

#if defined(__GNUC__) && !defined(__clang__)
// new and delete below match each other; GCC sees only one of both when it inlines.
#pragma GCC diagnostic ignored "-Wmismatched-new-delete"
#endif

void* operator new(std::size_t bytes) { return counted(bytes, 16); }
void* operator new[](std::size_t bytes) { return counted(bytes, 16); }
void* operator new(std::size_t bytes, std::align_val_t align) {
  return counted(bytes, static_cast<std::size_t>(align));
}
void* operator new[](std::size_t bytes, std::align_val_t align) {
  return counted(bytes, static_cast<std::size_t>(align));
}
void operator delete(void* pointer) noexcept { std::free(pointer); }
void operator delete[](void* pointer) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::align_val_t) noexcept { std::free(pointer); }
void operator delete(void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }
void operator delete[](void* pointer, std::size_t, std::align_val_t) noexcept { std::free(pointer); }
#endif

namespace deepinfer::device {
namespace {

namespace toy = graph::testing;
using graph::Bindings;
using graph::Emitter;
using graph::Value;
using Outputs = std::map<std::string, Value, std::less<>>;
using ops::testing::Inputs;
using ::testing::HasSubstr;

/// Memory and threads of one run.
struct Machine {
  explicit Machine(int num_threads = 1) : pool(num_threads) {}
  base::ThreadPool pool;
  graph::Scratch scratch;
  graph::KernelContext ctx{&pool, isa::available().back(), &scratch};
};

/// Inputs of the toy models. `weights` owns the three slices of the segmented weight.
struct World {
  Inputs random{"host_executable"};
  Tensor x = random.f32({4, 8});
  Tensor slots = random.s32({2}, 0, 4);
  Tensor bytes = random.u8({2, 4});
  Tensor root = random.u8({5, 32});
  std::vector<Tensor> slices;
  std::vector<const void*> segments;
  toy::ToyModel model;

  World() {
    for (int i = 0; i < 3; ++i) segments.push_back((slices.push_back(random.f32({8})), slices.back().data()));
    model.weight.tensor = {{DType::kF32, {3, 8}}, nullptr, segments.data()};
  }
  Bindings bindings(const Tensor& state) const {
    Bindings out;
    out.host = {{"x", x.ref()}, {"slots", slots.ref()}, {"bytes", bytes.ref()}};
    out.state = {{"kv_states", state.ref()}};
    return out;
  }
};

template <typename Model>
graph::Graph traced(const Model& model, const std::string& name = "test") {
  graph::TraceEmitter trace("any", name);
  return trace.finish(model(trace));
}

std::string bytes_of(const ConstTensorRef& ref) {
  return {static_cast<const char*>(ref.data), static_cast<std::size_t>(ref.type.bytes())};
}

/// One record a node: path, op, digest of the bytes of every result.
struct Recorder {
  std::vector<std::string> nodes;
  graph::NodeObserver observer() {
    return [this](const std::string& path, const graph::OpDef& op, std::span<const TensorRef> results) {
      std::string text = path + " " + std::string(op.name);
      for (const TensorRef& result : results) text += " " + base::sha256_hex(bytes_of(result)).substr(0, 16);
      nodes.push_back(std::move(text));
    };
  }
};

/// Runs the model eagerly and as a planned graph on 1, 2 and 3 threads, with and without checks; every output, every
/// root and every intermediate must have the same bytes.
template <typename Model>
void expect_equal_runs(const Model& model, const World& world, const Bindings& extra = {}) {
  const auto merged = [&](const Tensor& state) {
    Bindings out = world.bindings(state);
    for (const auto& [name, ref] : extra.host) out.host.insert_or_assign(name, ref);
    return out;
  };
  Machine eager_machine;
  const Tensor eager_root = world.root.clone();
  const Bindings eager_bindings = merged(eager_root);
  graph::EagerEmitter eager(eager_machine.ctx, eager_bindings);
  Recorder eager_nodes;
  eager.set_observer(eager_nodes.observer());
  const Outputs expected = model(eager);
  for (const int threads : {1, 2, 3}) {
    for (const RunChecks checks : {RunChecks::kOff, RunChecks::kOn}) {
      Machine machine(threads);
      const Tensor root = world.root.clone();
      auto executable = HostExecutable::compile(traced(model), machine.ctx, checks);
      ASSERT_TRUE(executable.has_value()) << executable.error().to_string();
      const Status bound = (*executable)->bind(merged(root));
      ASSERT_TRUE(bound.has_value()) << bound.error().to_string();
      Recorder nodes;
      (*executable)->set_observer(nodes.observer());
      ASSERT_TRUE((*executable)->run().has_value());
      EXPECT_EQ(nodes.nodes, eager_nodes.nodes);
      EXPECT_EQ(bytes_of(root.ref()), bytes_of(eager_root.ref()));
      (*executable)->set_observer({});
      std::memcpy(root.data(), world.root.data(), static_cast<std::size_t>(root.type().bytes()));
      ASSERT_TRUE((*executable)->run().has_value());  // again, over the leftovers of the first run
      for (const auto& [name, value] : expected) {
        EXPECT_EQ(bytes_of((*executable)->output(name)), bytes_of(eager.read(value)))
            << name << ", " << threads << " threads";
      }
      EXPECT_EQ(bytes_of(root.ref()), bytes_of(eager_root.ref()));
    }
  }
}

TEST(HostExecutable, EqualsEagerOnEveryKindOfNode) {
  const World world;
  expect_equal_runs(world.model, world);
}

TEST(HostExecutable, EqualsEagerOnADeepChain) {
  World world;
  const Tensor x = world.random.f32({8, 40});
  Bindings extra;
  extra.host = {{"x", x.ref()}};
  expect_equal_runs(toy::DeepModel{}, world, extra);
}

TEST(HostExecutable, EqualsEagerOnLibraryOps) {
  World world;
  const Tensor x = world.random.bf16({3, 100});
  const Tensor gamma = world.random.bf16({100});
  Bindings extra;
  extra.host = {{"x", x.ref()}};
  const auto model = [&](Emitter& e) -> Outputs {
    Value out = e.host("x", x.type());
    for (int layer = 0; layer < 5; ++layer) {
      const graph::PathScope path(e, "layers." + std::to_string(layer));
      out = ops::rmsnorm(e.at("norm"), out, e.weight({"gamma", gamma.ref()}), 1e-6);
    }
    return {{"y", out}};
  };
  expect_equal_runs(model, world, extra);
  EXPECT_EQ(graph::parse_text(to_text(traced(model)), ops::registry()), traced(model));
}

TEST(HostExecutable, ReplaysWithoutAllocation) {
  if (!kCountsAllocations) GTEST_SKIP() << "allocations are not counted under sanitizers";
  World world;
  const Tensor x = world.random.f32({8, 40});
  const Tensor root = world.root.clone();
  for (const int threads : {1, 2}) {
    Machine machine(threads);
    auto executable =
        *HostExecutable::compile(traced(toy::DeepModel{threads == 1 ? 40 : 4}), machine.ctx, RunChecks::kOff);
    Bindings bindings = world.bindings(root);
    bindings.host.insert_or_assign("x", x.ref());
    ASSERT_TRUE(executable->bind(bindings).has_value());
    ASSERT_TRUE(executable->run().has_value());
    const std::int64_t before = num_allocations;
    for (int i = 0; i < 100; ++i) static_cast<void>(executable->run());
    EXPECT_EQ(num_allocations - before, 0);
    executable->start_profile();
    const std::int64_t profiled = num_allocations;
    for (int i = 0; i < 100; ++i) static_cast<void>(executable->run());
    EXPECT_EQ(num_allocations - profiled, 0);
  }
  const std::int64_t before = num_allocations;
  const auto one = std::make_unique<int>(1);
  EXPECT_EQ(num_allocations - before, 1);  // the counter counts
}

TEST(HostExecutable, KeepsItsAddressesAndReadsInputsInPlace) {
  const World world;
  Machine machine;
  const Tensor root = world.root.clone();
  auto executable = *HostExecutable::compile(traced(world.model), machine.ctx);
  Bindings bindings = world.bindings(root);
  bindings.host.erase("x");
  ASSERT_TRUE(executable->bind(bindings).has_value());
  const TensorRef x = executable->input("x");
  ASSERT_NE(x.data, nullptr);
  EXPECT_EQ(executable->input("slots").data, nullptr);  // the caller's memory
  EXPECT_EQ(executable->input("nothing").data, nullptr);
  ASSERT_TRUE(executable->run().has_value());
  const ConstTensorRef y = executable->output("y");
  const std::string zeros = bytes_of(y);
  std::memcpy(x.data, world.x.data(), static_cast<std::size_t>(x.type.bytes()));
  ASSERT_TRUE(executable->run().has_value());
  EXPECT_EQ(executable->output("y").data, y.data);
  EXPECT_NE(bytes_of(y), zeros);
  EXPECT_EQ(executable->output("kv_states").data, root.data());  // the donated root
  EXPECT_EQ(executable->output_at(0).data, executable->output("loaded").data);
  EXPECT_EQ(executable->output("nothing").data, nullptr);
  EXPECT_EQ(executable->workspace_bytes(), executable->plan().arena_bytes + x.type.bytes());
}

TEST(HostExecutable, RunsConstantsStageDonationsAndTextGraphs) {
  Machine machine;
  auto graph = graph::parse_text(
      "graph \"g\" target=any {\n%0 = input \"s\" f32[4,8] role=stage\n%1 = constant() {value=2.5} : f32[4,8]\n"
      "%2 = toy_resize(%0) {width=8} : f32[4,8]\n%3 = toy_add(%2, %1) {scale=1.0} : f32[4,8]\n"
      "%4 = toy_add(%3, %3) {scale=1.0} : f32[4,8]\nreturn %3, %4\ndonate 0->1\n}\n",
      toy::toy_registry());
  ASSERT_TRUE(graph.has_value()) << graph.error().to_string();
  auto executable = *HostExecutable::compile(*graph, machine.ctx, RunChecks::kOn);
  ASSERT_TRUE(executable->bind({}).has_value());
  const TensorRef stage = executable->input("s");
  std::fill_n(stage.as<float>(), 32, 1.0F);
  ASSERT_TRUE(executable->run().has_value());
  EXPECT_EQ(executable->output_at(0).as<float>()[31], 3.5F);
  EXPECT_EQ(executable->output_at(1).as<float>()[31], 7.0F);
  EXPECT_EQ(executable->output_at(1).data, stage.data);
}

TEST(HostExecutable, RefusesWrongBindings) {
  const World world;
  Machine machine;
  auto executable = *HostExecutable::compile(traced(world.model), machine.ctx);
  EXPECT_THROW(static_cast<void>(executable->run()), CheckFailure);
  EXPECT_EQ(executable->bind({}).error().to_string(), "state kv_states is not bound");
  const Tensor root = world.root.clone();
  Bindings bindings = world.bindings(root);
  bindings.host.insert_or_assign("x", world.bytes.ref());
  EXPECT_EQ(executable->bind(bindings).error().to_string(), "host input x is bound to u8[2,4], the graph has f32[4,8]");
  EXPECT_THROW(static_cast<void>(executable->run()), CheckFailure);
  const auto shapes_only = *HostExecutable::compile(traced(toy::ToyModel{}), machine.ctx);
  EXPECT_THAT(shapes_only->bind(world.bindings(root)).error().to_string(), HasSubstr("weight layers.0.w has no data"));
}

TEST(HostExecutable, RefusesGraphsItCannotRun) {
  Machine machine;
  HostBackend backend(machine.ctx);
  EXPECT_EQ(backend.name(), "host");
  graph::Graph broken = traced(toy::ToyModel{});
  broken.donations.clear();
  EXPECT_THAT(backend.compile(broken).error().to_string(), HasSubstr("G006"));
  graph::OpDef bare = toy::toy_add;
  bare.kernel = nullptr;
  graph::Graph no_kernel = traced([](Emitter& e) -> Outputs {
    return {{"y", e.at("sum").emit_one(toy::toy_add, std::array{e.host("x", {DType::kF32, {1}})})}};
  });
  no_kernel.nodes[0].op = &bare;
  EXPECT_EQ(backend.compile(no_kernel).error().to_string(), "toy_add (sum): the host has no kernel");
  const World world;
  graph::Graph viewed = traced([&](Emitter& e) -> Outputs {
    return {{"y", e.emit_one(toy::toy_rows, std::array{e.weight(world.model.weight)},
                             {{"begin", std::int64_t{0}}, {"count", std::int64_t{1}}})}};
  });
  auto executable = *backend.compile(viewed);
  EXPECT_THAT(executable->bind({}).error().to_string(), HasSubstr("a view or update of a segmented weight"));
}

TEST(HostExecutable, CheckedRunsNoticeRangesAndWritesToReadOnlyInputs) {
  World world;
  Machine machine;
  const Tensor root = world.root.clone();
  auto executable = *HostExecutable::compile(traced(world.model), machine.ctx, RunChecks::kOn);
  ASSERT_TRUE(executable->bind(world.bindings(root)).has_value());
  world.slots.as<std::int32_t>()[1] = 5;
  EXPECT_EQ(executable->run().error().to_string(), "host input slots[1] = 5 is outside [0, 4]");
  world.slots.as<std::int32_t>()[1] = -1;
  EXPECT_FALSE(executable->run().has_value());
  world.slots.as<std::int32_t>()[1] = 4;
  EXPECT_TRUE(executable->run().has_value());

  graph::OpDef vandal = toy::toy_add;
  vandal.kernel = [](const graph::OpCall& call) { const_cast<float*>(call.in[0].as<float>())[0] += 1; };
  graph::Graph graph = traced([&](Emitter& e) -> Outputs {
    return {{"y", e.emit_one(vandal, std::array{e.host("x", world.x.type())})}};
  });
  auto checked = *HostExecutable::compile(graph, machine.ctx, RunChecks::kOn);
  ASSERT_TRUE(checked->bind(world.bindings(root)).has_value());
  EXPECT_THROW(static_cast<void>(checked->run()), CheckFailure);
}

TEST(HostExecutable, CheckedRunsPoisonTheArena) {
  graph::OpDef lazy = toy::toy_add;  // forgets to write its result
  lazy.kernel = [](const graph::OpCall&) {};
  lazy.may_reuse = {};
  Machine machine;
  auto executable =
      *HostExecutable::compile(traced([&](Emitter& e) -> Outputs {
                                 return {{"y", e.emit_one(lazy, std::array{e.host("x", {DType::kF32, {4}})})}};
                               }),
                               machine.ctx, RunChecks::kOn);
  ASSERT_TRUE(executable->bind({}).has_value());
  ASSERT_TRUE(executable->run().has_value());
  EXPECT_EQ(bytes_of(executable->output("y")), std::string(16, '\xFB'));
}

TEST(HostExecutable, ProfilesEveryNode) {
  const World world;
  Machine machine;
  const Tensor root = world.root.clone();
  auto executable = *HostExecutable::compile(traced(world.model), machine.ctx);
  ASSERT_TRUE(executable->bind(world.bindings(root)).has_value());
  executable->start_profile();
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(executable->run().has_value());
  ASSERT_EQ(executable->profile().size(), 7U);
  EXPECT_EQ(executable->profile()[0].bytes, 8 + 8);          // slots and rows, not the root
  EXPECT_EQ(executable->profile()[3].bytes, 4 * 4 * 8 * 4);  // three operands, one result
  for (const NodeProfile& node : executable->profile()) {
    EXPECT_EQ(node.runs, 3);
    EXPECT_GE(node.wall_ns, 0);
  }
  EXPECT_THAT(executable->profile_csv(),
              HasSubstr("node,path,stage,op,runs,wall_ns,bytes\n0,layers.0.store,attn/core,toy_store,3,"));
}

}  // namespace
}  // namespace deepinfer::device
