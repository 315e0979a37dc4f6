#include "graph/plan.h"

#include <gtest/gtest.h>

#include <map>

#include "base/io.h"
#include "graph/testing/toy_ops.h"
#include "graph/text.h"
#include "graph/trace_emitter.h"

namespace deepinfer::graph::testing {
namespace {

template <typename Model>
Graph traced(const Model& model) {
  TraceEmitter trace("any", "planned");
  return trace.finish(model(trace));
}

Graph sample(const std::string& body) {
  auto graph = parse_text("graph \"g\" target=any {\n" + body + "}\n", toy_registry());
  DI_CHECK(graph.has_value(), "{}", graph.error().to_string());
  return *graph;
}

/// Walks the nodes with a map "arena cell -> value whose bytes lie there" and counts reads of bytes that another value
/// has overwritten. Values that share storage by contract count as the value they lie in.
int count_lost_reads(const Graph& graph, const Plan& plan) {
  std::map<ValueId, ValueId> owner;  // of views and in-place results: where their bytes come from
  std::map<std::int64_t, ValueId> cells;
  int lost = 0;
  const auto owner_of = [&](ValueId value) { return owner.contains(value) ? owner[value] : value; };
  const auto check = [&](ValueId value) {
    if (graph.is_input(value)) return;
    const PlanEntry& entry = plan.entry(graph, value);
    if (entry.storage != Storage::kArena) return;
    for (std::int64_t byte = entry.offset; byte < entry.offset + entry.bytes; byte += 4) {
      lost += cells[byte] == owner_of(value) ? 0 : 1;
    }
  };
  for (const PlanEntry& entry : plan.entries) {
    const Node& node = graph.node_of(entry.value);
    if (entry.value.result == 0) {
      for (const ValueId operand : node.operands) check(operand);
    }
    if (entry.placement == Placement::kView || entry.placement == Placement::kInPlace) {
      owner[entry.value] = owner_of(node.operands[0]);
    } else if (entry.storage == Storage::kArena) {
      for (std::int64_t byte = entry.offset; byte < entry.offset + entry.bytes; byte += 4) cells[byte] = entry.value;
    }
  }
  for (const GraphOutput& output : graph.outputs) check(output.value);
  return lost;
}

TEST(PlanSnapshot, ToyPlanEqualsTheCommittedTable) {
  const Graph graph = traced(ToyModel{});
  const auto committed = base::read_file(DEEPINFER_SOURCE_DIR "/tests/snapshots/plan_toy.txt");
  ASSERT_TRUE(committed.has_value()) << committed.error().message;
  EXPECT_EQ(plan_table(graph, plan_buffers(graph)), *committed);
}

TEST(PlanSnapshot, IsDeterministic) {
  const Graph graph = traced(DeepModel{});
  EXPECT_EQ(plan_table(graph, plan_buffers(graph)), plan_table(graph, plan_buffers(traced(DeepModel{}))));
}

TEST(PlanBounds, DeepChainStaysWithinTenPercentOfLiveBytes) {
  for (const std::int64_t layers : {1, 2, 5, 40}) {
    for (const std::int64_t hidden : {8, 40, 100}) {
      const Graph graph = traced(DeepModel{layers, hidden});
      const Plan plan = plan_buffers(graph);
      EXPECT_GE(plan.peak_bytes, plan.max_live_bytes);
      EXPECT_LE(plan.peak_bytes, plan.max_live_bytes + plan.max_live_bytes / 10)
          << layers << " layers, hidden " << hidden;
      EXPECT_EQ(plan.arena_bytes % 64, 0);
      EXPECT_EQ(count_lost_reads(graph, plan), 0);
      if (layers == 40) {
        EXPECT_LT(plan.peak_bytes * 20, plan.naive_bytes);
      }
    }
  }
}

TEST(PlanBounds, LostReadsAreNoticed) {
  const Graph graph = traced(DeepModel{2, 8});
  Plan plan = plan_buffers(graph);
  for (PlanEntry& entry : plan.entries) entry.offset = entry.storage == Storage::kArena ? 0 : entry.offset;
  EXPECT_GT(count_lost_reads(graph, plan), 0);
}

TEST(PlanBounds, RandomGraphsKeepTheirValues) {
  std::uint64_t state = 7;
  const auto pick = [&](std::size_t n) {
    return (state = state * 6364136223846793005U + 1442695040888963407U, (state >> 33) % n);
  };
  for (int round = 0; round < 200; ++round) {
    TraceEmitter trace("any", "random");
    std::vector<Value> values{trace.host("x", {DType::kF32, {4, 8}})};
    for (int i = 0; i < 30; ++i) {
      const Value a = values[pick(values.size())];
      switch (pick(4)) {
        case 0: {
          for (const Value& part : trace.emit(toy_split, std::array{a})) values.push_back(part);
          break;
        }
        case 1: {
          Value b = values[pick(values.size())];
          if (!(b.type() == a.type())) b = a;
          values.push_back(trace.emit_one(toy_add, std::array{a, b}));
          break;
        }
        case 2: {
          if (a.shape()[0] == 1) break;
          values.push_back(
              trace.emit_one(toy_rows, std::array{a}, {{"begin", std::int64_t{1}}, {"count", a.shape()[0] - 1}}));
          break;
        }
        default:
          values.push_back(
              trace.emit_one(toy_resize, std::array{a}, {{"width", static_cast<std::int64_t>(1 + pick(60))}}));
      }
    }
    std::map<std::string, Value, std::less<>> outputs;
    for (int i = 0; i < 3; ++i) outputs["y" + std::to_string(i)] = values[values.size() - 1 - pick(4)];
    const bool returns_input =
        std::any_of(outputs.begin(), outputs.end(), [&](const auto& o) { return o.second.node() == values[0].node(); });
    if (returns_input) continue;
    const Graph graph = trace.finish(outputs);
    const Plan plan = plan_buffers(graph);
    EXPECT_EQ(count_lost_reads(graph, plan), 0) << to_text(graph) << plan_table(graph, plan);
    EXPECT_GE(plan.peak_bytes, plan.max_live_bytes);
  }
}

TEST(Plan, SharesStorageOnlyWhereTheContractAllows) {
  const Graph graph = sample(
      "%0 = input \"x\" f32[4,8] role=host\n%1 = input \"s\" f32[4,8] role=stage\n%2 = input \"kv\" u8[5,32] "
      "role=state\n"
      "%3 = input \"slots\" s32[2] role=host\n%4 = input \"rows\" u8[2,4] role=host\n"
      "%5 = constant() {value=1.0} : f32[4,8]\n"
      "%6 = toy_add(%0, %1) {scale=1.0} : f32[4,8]\n"
      "%7 = toy_add(%6, %5) {scale=1.0} : f32[4,8]\n"
      "%8 = toy_rows(%7) {begin=1, count=2} : f32[2,8]\n"
      "%9 = toy_store(%2, %3, %4) {base=0, rows=1, row_bytes=4} : u8[5,32]\n"
      "%10 = toy_add(%7, %7) {scale=1.0} : f32[4,8]\n"
      "%11 = toy_rows(%10) {begin=2, count=2} : f32[2,8]\n"
      "return %8, %9, %10, %11\ndonate 1->2, 2->1\n");
  const Plan plan = plan_buffers(graph);
  const auto at = [&](std::int32_t def) { return plan.entry(graph, {def, 0}); };
  EXPECT_EQ(at(5).storage, Storage::kConstant);
  EXPECT_EQ(at(6).placement, Placement::kOwn);    // host inputs are never taken
  EXPECT_EQ(at(7).placement, Placement::kReuse);  // over the dying %6
  EXPECT_EQ(at(7).offset, at(6).offset);
  EXPECT_EQ(at(8).placement, Placement::kView);
  EXPECT_EQ(at(8).offset, at(7).offset + 32);
  EXPECT_EQ(at(8).last, 7);  // returned: its buffer lives to the end
  EXPECT_EQ(at(9).placement, Placement::kInPlace);
  EXPECT_EQ(at(9).storage, Storage::kInput);
  EXPECT_EQ(at(9).index, 2);
  EXPECT_EQ(at(10).placement, Placement::kDonated);  // %7 still holds the returned view, the stage input is dead
  EXPECT_EQ(at(10).index, 1);
  EXPECT_EQ(at(11).storage, Storage::kInput);
  EXPECT_EQ(at(11).offset, 64);
  EXPECT_EQ(plan.peak_bytes, 128);
  EXPECT_EQ(plan.naive_bytes, 3 * 128);
}

TEST(Plan, DoesNotReuseAnOperandThatIsAlsoReadThroughAView) {
  const Graph graph = sample(
      "%0 = input \"x\" f32[4,8] role=host\n%1 = toy_resize(%0) {width=8} : f32[4,8]\n"
      "%2 = toy_rows(%1) {begin=1, count=2} : f32[2,8]\n%3 = toy_rows(%1) {begin=0, count=2} : f32[2,8]\n"
      "%4 = toy_add(%3, %2) {scale=1.0} : f32[2,8]\nreturn %4\n");
  const Plan plan = plan_buffers(graph);
  EXPECT_EQ(plan.entry(graph, {4, 0}).placement, Placement::kOwn);
}

TEST(Plan, JsonHoldsEveryEntry) {
  const Graph graph = traced(ToyModel{});
  const Plan plan = plan_buffers(graph);
  const base::Json json = plan_json(graph, plan);
  EXPECT_EQ(json.find("entries")->items().size(), plan.entries.size());
  EXPECT_EQ(json.find("arena_bytes")->as_int(), plan.arena_bytes);
  EXPECT_EQ(json.find("entries")->items()[0].find("placement")->string(), "in_place");
}

}  // namespace
}  // namespace deepinfer::graph::testing
