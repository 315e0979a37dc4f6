#include "graph/trace_emitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "graph/eager_emitter.h"
#include "graph/testing/toy_ops.h"
#include "graph/text.h"

namespace deepinfer::graph::testing {
namespace {

using ::testing::HasSubstr;

const TensorType kRows{DType::kF32, {4, 8}};
const TensorType kRoot{DType::kU8, {5, 32}};

/// Runs `body` inside layers.4.attn, stage attn/index, and returns the text of the break ("" when there is none).
template <typename Body>
std::string break_of(Body body) {
  TraceEmitter trace("any", "broken");
  const PathScope layer(trace, "layers.4.attn");
  const StageScope stage(trace, "attn/index");
  try {
    body(trace);
  } catch (const GraphBreak& error) {
    return error.what();
  }
  return "";
}

Attrs view() { return {{"base", std::int64_t{0}}, {"row_bytes", std::int64_t{4}}}; }

Value store(Emitter& e, const Value& root) {
  return e.emit_one(
      toy_store, std::array{root, e.host("slots", {DType::kS32, {2}}), e.host("rows", {DType::kU8, {2, 4}})}, view());
}

TEST(GraphBreaks, HostReadNamesTheNode) {
  EXPECT_EQ(break_of([](TraceEmitter& e) {
              const auto parts = e.at("topk").emit(toy_split, std::array{e.host("x", kRows)});
              e.read(parts[1]);
            }),
            "graph break at layers.4.attn.topk (attn/index): host read of toy_split#1");
  EXPECT_THAT(break_of([](TraceEmitter& e) { e.read(e.host("x", kRows)); }), HasSubstr("host read of input x"));
}

TEST(GraphBreaks, HostOnlyOpAndTensorFromOutside) {
  EXPECT_EQ(break_of([](TraceEmitter& e) { e.at("hash").emit(toy_host, std::array{e.host("x", kRows)}); }),
            "graph break at layers.4.attn.hash (attn/index): G005 toy_host: host-only op");
  EXPECT_THAT(break_of([](TraceEmitter& e) { e.constant(Tensor(kRows)); }), HasSubstr("f32[4,8] given from outside"));
}

TEST(GraphBreaks, EnvironmentQueryInsideTheTrace) {
  EXPECT_EQ(break_of([](TraceEmitter&) { base::refuse_in_trace("read of DEEPINFER_LOG"); }),
            "graph break at layers.4.attn (attn/index): read of DEEPINFER_LOG");
  EXPECT_FALSE(base::in_trace());
  base::refuse_in_trace("read of DEEPINFER_LOG");  // allowed outside
}

TEST(GraphBreaks, EmissionAfterFinish) {
  EXPECT_THAT(break_of([](TraceEmitter& e) {
                const Value x = e.host("x", kRows);
                e.finish({{"y", e.emit_one(toy_add, std::array{x})}});
                EXPECT_FALSE(base::in_trace());
                e.emit(toy_add, std::array{x});
              }),
              HasSubstr("emission into broken after finish()"));
  EXPECT_THAT(break_of([](TraceEmitter& e) {
                e.finish({{"y", e.emit_one(toy_add, std::array{e.host("x", kRows)})}});
                e.host("z", kRows);
              }),
              HasSubstr("after finish()"));
}

TEST(GraphBreaks, MovedAndForeignValues) {
  EXPECT_THAT(break_of([](TraceEmitter& e) {
                Value x = e.host("x", kRows);
                const Value taken = std::move(x);
                e.at("wq").emit(toy_add, std::array{taken, x});  // NOLINT(bugprone-use-after-move)
              }),
              HasSubstr("graph break at layers.4.attn.wq (attn/index): operand 1 of toy_add is a moved value"));
  EXPECT_THAT(break_of([](TraceEmitter& e) {
                Bindings bindings;
                EagerEmitter other({}, bindings);
                e.emit(toy_add, std::array{other.constant(Tensor(kRows))});
              }),
              HasSubstr("of another emitter"));
  EXPECT_THAT(break_of([](TraceEmitter& e) {
                e.finish({{"y", Value()}});
              }),
              HasSubstr("output y is not of this trace"));
}

TEST(GraphBreaks, DtypeOutsideTheTarget) {
  EXPECT_THAT(break_of([](TraceEmitter& e) { e.host("ids", {DType::kS64, {4}}); }), HasSubstr("ids is s64[4]"));
  EXPECT_THAT(break_of([](TraceEmitter& e) { e.emit(toy_wide, std::array{e.host("x", kRows)}); }),
              HasSubstr("toy_wide is s64[4,8]"));
  TraceEmitter host("host", "wide");
  EXPECT_EQ(host.finish({{"y", host.emit_one(toy_wide, std::array{host.host("x", kRows)})}}).nodes.size(), 1U);
}

TEST(GraphBreaks, NestedTracing) {
  EXPECT_EQ(break_of([](TraceEmitter&) { const TraceEmitter inner("any", "inner"); }),
            "graph break at layers.4.attn (attn/index): nested tracing");
  EXPECT_FALSE(base::in_trace());
  const TraceEmitter next("any", "next");  // the thread is free again
  EXPECT_TRUE(base::in_trace());
}

TEST(GraphBreaks, ConsumedRootVersion) {
  EXPECT_THAT(break_of([](TraceEmitter& e) {
                const Value root = e.state("kv_states", kRoot);
                e.at("first");
                store(e, root);
                e.at("second");
                store(e, root);
              }),
              HasSubstr("G007 toy_store uses a version of kv_states that layers.4.attn.first has overwritten"));
  EXPECT_THAT(break_of([](TraceEmitter& e) {
                const Value rows = e.host("rows", {DType::kU8, {2, 4}});
                e.emit(toy_store, std::array{rows, e.host("slots", {DType::kS32, {2}}), rows}, view());
              }),
              HasSubstr("G007 toy_store reads the version it overwrites"));
  EXPECT_THAT(break_of([](TraceEmitter& e) { store(e, e.host("other", kRoot)); }),
              HasSubstr("writes host input other"));
}

TEST(TraceEmitter, MemoisesInputsAndTracksTheNewestRoot) {
  TraceEmitter trace("any", "roots");
  const Value x = trace.host("x", kRows);
  EXPECT_EQ(trace.host("x", kRows).node(), x.node());
  EXPECT_THROW(trace.host("x", kRoot), CheckFailure);
  EXPECT_THROW(trace.state("x", kRows), CheckFailure);
  const Value root = trace.state("kv_states", kRoot);
  EXPECT_EQ(trace.state("kv_states", kRoot).node(), root.node());
  const Value next = store(trace, root);
  EXPECT_EQ(trace.state("kv_states", kRoot).node(), next.node());
  store(trace, next);
  trace.emit(toy_add, std::array{x});  // unused: dropped
  const Graph graph = trace.finish({});
  EXPECT_EQ(graph.nodes.size(), 2U);
  ASSERT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.outputs[0].name, "kv_states");
  EXPECT_EQ(graph.donations, (std::vector<Donation>{{1, 0}}));
}

TEST(TraceEmitter, ReadOnlyRootIsNeitherReturnedNorDonated) {
  TraceEmitter trace("any", "reader");
  const Value slots = trace.host("slots", {DType::kS32, {2}});
  const Graph graph =
      trace.finish({{"y", trace.emit_one(toy_load, std::array{trace.state("kv", kRoot), slots}, view())}});
  EXPECT_EQ(graph.outputs.size(), 1U);
  EXPECT_TRUE(graph.donations.empty());
}

TEST(TraceEmitter, ReturnsAWrittenRootOnceWhenTheModelListsIt) {
  TraceEmitter trace("any", "listed");
  const Value root = store(trace, trace.state("kv", kRoot));
  const Graph graph = trace.finish({{"a_root", root}});
  EXPECT_EQ(graph.outputs.size(), 1U);
  EXPECT_EQ(graph.donations, (std::vector<Donation>{{0, 0}}));
}

TEST(TraceEmitter, KeepsSitesAndWeightTensorsBesideTheGraph) {
  const Tensor w = Tensor::zeros({DType::kF32, {3, 8}});
  ToyModel model;
  model.weight.tensor = w.ref();
  TraceEmitter trace("any", "toy");
  const Graph graph = trace.finish(model(trace));
  EXPECT_EQ(graph.inputs[4].weight.data, w.data());
  EXPECT_EQ(graph.nodes[0].site.file, "src/graph/testing/toy_ops.h");
  EXPECT_GT(graph.nodes[0].site.line, 0);
  TraceEmitter shapes("any", "toy");
  EXPECT_EQ(shapes.finish(ToyModel{}(shapes)), graph);  // shape-only weights trace to the same graph
}

}  // namespace
}  // namespace deepinfer::graph::testing
