// The static graphs of the tiny models: equal to eager execution, planned within bounds, with one donated input a cache
// root, and traced without touching the process (graph.md 3 to 5, 10.3).
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <set>
#include <type_traits>

#include <fmt/format.h>

#include "base/environ.h"
#include "base/io.h"
#include "base/trace_guard.h"
#include "engine/graph_runner.h"
#include "graph/plan.h"
#include "graph/text.h"
#include "graph/verifier.h"
#include "ops/registry.h"
#include "tiny_models.h"

namespace {
std::atomic<std::int64_t> num_getenv{0};
std::atomic<std::int64_t> num_dlopen{0};
}  // namespace

// The trace must not ask the machine anything; these definitions come before those of the C library.
extern "C" char* getenv(const char* name) noexcept {
  ++num_getenv;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::size_t n = std::char_traits<char>::length(name);
    if (std::char_traits<char>::compare(*entry, name, n) == 0 && (*entry)[n] == '=') return *entry + n + 1;
  }
  return nullptr;
}
extern "C" void* dlopen(const char* file, int mode) noexcept {
  ++num_dlopen;
  static const auto next = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return next(file, mode);
}

namespace deepinfer::integration {
namespace {

using engine::GraphMode;
using engine::RunnerOptions;

constexpr std::int64_t kBatchSizes[] = {1, 2, 4, 8, 16, 24};
constexpr const char* kModels[] = {"micro", "nosel", "ties", "geom", "wide", "tiny-chat"};

RunnerOptions options_for(GraphMode mode) {
  RunnerOptions options;
  options.graph_mode = mode;
  options.max_num_seqs = 4;
  options.max_model_len = 300;
  return options;
}

/// An eager runner: graphs are traced from it on demand.
engine::ModelRunner& tracer(const std::string& name) {
  static std::map<std::string, std::unique_ptr<engine::ModelRunner>> runners;
  auto& runner = runners[name];
  if (!runner) runner = make_runner(name, options_for(GraphMode::kEager));
  return *runner;
}

// ---- eager = traced --------------------------------------------------------------------------------------------------

class EagerEqualsTrace : public ::testing::TestWithParam<std::int64_t> {};
INSTANTIATE_TEST_SUITE_P(Graph, EagerEqualsTrace, ::testing::ValuesIn(kBatchSizes));

/// A step of exactly `rows` rows in one mode, some beyond the window; also what it leaves in the caches.
std::pair<Logits, Roots> one_step(const std::string& name, GraphMode mode, std::int64_t rows) {
  RunnerOptions options = options_for(mode);
  const std::int64_t most = tiny_model(name)->weights().draft == nullptr ? 1 : 1 + options.num_drafts;
  options.max_num_seqs = (rows + most - 1) / most;
  const auto runner = make_runner(name, options);
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<engine::DecodeItem> items;
  std::uint32_t seed = 40;
  for (std::int64_t left = rows; left > 0; left -= items.back().count) {
    streams.push_back(std::make_unique<Stream>(*runner, random_tokens(name, 300, seed)));
    streams.back()->prefill(10 + (seed == 40 ? 120 : 7 * (seed - 40) % 40));
    items.push_back({&streams.back()->sequence(), std::min(most, left)});
    ++seed;
  }
  const auto logits = runner->decode(items);
  DI_CHECK(logits.has_value(), "{}", logits.error().to_string());
  return {Logits(logits->as<float>(), logits->as<float>() + logits->type().num_elements()), save_roots(*runner)};
}

TEST_P(EagerEqualsTrace, LogitsAndCaches) {
  for (const std::string name : {"micro", "nosel", "ties", "geom", "wide"}) {
    const auto [eager, eager_roots] = one_step(name, GraphMode::kEager, GetParam());
    auto [graph, graph_roots] = one_step(name, GraphMode::kGraph, GetParam());
    EXPECT_TRUE(same_rows(graph, eager, 0, tiny_model(name)->config().vocab_size)) << name;
    // Slot 0 and the scratch block belong to padding rows, which only the warm-up of graphs runs here.
    const auto clear = [](Tensor& root, std::int64_t row) {
      std::fill_n(static_cast<std::uint8_t*>(root.data()) + row * root.shape()[1], root.shape()[1], std::uint8_t{0});
    };
    Roots expected{eager_roots.blocks.clone(), eager_roots.states.clone()};
    for (Roots* roots : {&expected, &graph_roots}) {
      clear(roots->states, 0);
      clear(roots->blocks, roots->blocks.shape()[0] - 1);
    }
    EXPECT_TRUE(same_bytes(graph_roots.blocks, expected.blocks)) << name;
    EXPECT_TRUE(same_bytes(graph_roots.states, expected.states)) << name;
  }
}

TEST(EagerEqualsTrace, DraftPasses) {
  for (const std::string name : {"micro", "geom", "tiny-chat"}) {
    Logits expected;
    for (const GraphMode mode : {GraphMode::kEager, GraphMode::kGraph}) {
      const auto runner = make_runner(name, options_for(mode));
      Stream a(*runner, random_tokens(name, 100, 1));
      Stream b(*runner, random_tokens(name, 100, 2));
      a.prefill(70);
      b.prefill(3);
      const engine::Sequence* sequences[] = {&a.sequence(), &b.sequence(), &a.sequence()};
      const std::int32_t anchors[] = {11, 12, 13};
      const auto rows = runner->draft(sequences, anchors);  // three requests run in the graph of four
      const auto span = rows.raw_logits.span<float>();
      if (mode == GraphMode::kEager) expected.assign(span.begin(), span.end());
      EXPECT_TRUE(same_rows({span.begin(), span.end()}, expected, 0, runner->model().config().vocab_size)) << name;
    }
  }
}

// ---- runner -----------------------------------------------------------------------------------------------------------

TEST(RunnerSizes, ListsOfTheContract) {
  using V = std::vector<std::int64_t>;
  EXPECT_EQ(engine::graph_batch_sizes(32, 8), (V{1, 2, 4, 8, 16, 24, 32}));
  EXPECT_EQ(engine::graph_batch_sizes(6, 8), (V{1, 2, 4, 6}));
  EXPECT_EQ(engine::graph_batch_sizes(1, 8), (V{1}));
  EXPECT_EQ(engine::graph_batch_sizes(20, 8), (V{1, 2, 4, 8, 16, 20}));
  EXPECT_EQ(engine::graph_batch_sizes(48, 16), (V{1, 2, 4, 8, 16, 32, 48}));
}

TEST(RunnerSelect, SmallestSizeThatHolds) {
  const engine::GraphRunner graphs(tracer("micro"));
  for (std::int64_t rows = 1; rows <= 24; ++rows) {
    const auto size = graphs.select(rows);
    ASSERT_TRUE(size.has_value());
    EXPECT_EQ(*size, *std::lower_bound(std::begin(kBatchSizes), std::end(kBatchSizes), rows)) << rows;
  }
}

TEST(RunnerSelect, TooManyRowsNameTheValueAndTheLargestSize) {
  const engine::GraphRunner graphs(tracer("micro"));
  const auto size = graphs.select(25);
  ASSERT_FALSE(size.has_value());
  EXPECT_EQ(size.error().code, ErrorCode::kResourceExhausted);
  EXPECT_NE(size.error().message.find("25"), std::string::npos) << size.error().message;
  EXPECT_NE(size.error().message.find("24"), std::string::npos) << size.error().message;
}

TEST(RunnerSelect, AStepThatIsTooLargeIsRefusedWithoutRunning) {
  RunnerOptions options = options_for(GraphMode::kGraph);
  options.max_num_seqs = 1;
  const auto runner = make_runner("micro", options);
  Stream stream(*runner, random_tokens("micro", 40, 1));
  stream.prefill(20);
  const Roots before = save_roots(*runner);
  const engine::DecodeItem items[] = {{&stream.sequence(), 4}, {&stream.sequence(), 4}};
  const auto rows = runner->decode(items);
  ASSERT_FALSE(rows.has_value());
  EXPECT_EQ(rows.error().code, ErrorCode::kResourceExhausted);
  EXPECT_TRUE(same_bytes(save_roots(*runner).states, before.states));
}

TEST(RunnerSelect, ReplaysIntoTheSameBuffer) {
  engine::ModelRunner& runner = tracer("micro");
  engine::GraphRunner graphs(runner);
  const auto inputs = engine::prepare_decode(runner.step_context(), {}, 8).inputs;
  const void* first = graphs.replay_decode(8, inputs).data;
  EXPECT_EQ(graphs.replay_decode(8, inputs).data, first);
}

// ---- plans ------------------------------------------------------------------------------------------------------------

std::string snapshot_path(const std::string& file) { return DEEPINFER_SOURCE_DIR "/tests/snapshots/" + file; }

/// File name and text of every committed snapshot. After a wanted change:
///   build/integration_test --gtest_also_run_disabled_tests --gtest_filter='*WriteSnapshots'
std::map<std::string, std::string> snapshots() {
  const graph::Graph decode = engine::trace_decode(tracer("micro"), 8);
  const graph::Graph draft = engine::trace_draft(tracer("micro"), 2);
  return {{"micro_decode_b8.graph", graph::to_text(decode)},
          {"micro_draft_r2.graph", graph::to_text(draft)},
          {"micro_decode_b8.plan", graph::plan_table(decode, graph::plan_buffers(decode))},
          {"micro_draft_r2.plan", graph::plan_table(draft, graph::plan_buffers(draft))}};
}

TEST(ModelPlanSnapshot, EqualsTheCommittedFiles) {
  for (const auto& [file, text] : snapshots()) {
    const auto committed = base::read_file(snapshot_path(file));
    ASSERT_TRUE(committed.has_value()) << committed.error().message;
    // Not EXPECT_EQ: a difference of thousands of lines is better read with diff after writing the new form.
    EXPECT_TRUE(text == *committed) << file << " differs from the committed form; see snapshots() in model_graph_test.cc";
  }
}

TEST(ModelPlanSnapshot, DISABLED_WriteSnapshots) {
  for (const auto& [file, text] : snapshots()) ASSERT_TRUE(base::write_file(snapshot_path(file), text).has_value());
}

TEST(ModelPlanSnapshot, TextOfTheModelReadsBack) {
  const graph::Graph decode = engine::trace_decode(tracer("micro"), 8);
  const auto read = graph::parse_text(graph::to_text(decode), ops::registry());
  ASSERT_TRUE(read.has_value()) << read.error().message;
  EXPECT_EQ(graph::graph_hash(*read), graph::graph_hash(decode));
}

TEST(ModelPlanBounds, WithinTenPercentOfLiveBytes) {
  for (const char* name : kModels) {
    std::vector<graph::Graph> graphs;
    for (const std::int64_t size : kBatchSizes) graphs.push_back(engine::trace_decode(tracer(name), size));
    if (tiny_model(name)->weights().draft != nullptr) {
      for (const std::int64_t size : {1, 2, 4}) graphs.push_back(engine::trace_draft(tracer(name), size));
    }
    for (const graph::Graph& graph : graphs) {
      const graph::Plan plan = graph::plan_buffers(graph);
      EXPECT_GE(plan.peak_bytes, plan.max_live_bytes) << name << " " << graph.name;
      EXPECT_LE(static_cast<double>(plan.peak_bytes), 1.1 * static_cast<double>(plan.max_live_bytes)) << name << " " << graph.name;
      EXPECT_LT(plan.peak_bytes, plan.naive_bytes) << name << " " << graph.name;
    }
  }
}

// ---- cache views ------------------------------------------------------------------------------------------------------

TEST(LazyViews, OneDonatedInputAndOneAliasPairForEveryRoot) {
  for (const char* name : kModels) {
    for (const std::int64_t size : kBatchSizes) {
      const graph::Graph graph = engine::trace_decode(tracer(name), size);
      std::multiset<std::string> states;
      for (const graph::GraphInput& input : graph.inputs) {
        if (input.role == graph::InputRole::kState) states.insert(input.name);
      }
      EXPECT_EQ(states, (std::multiset<std::string>{"kv_blocks", "kv_states"})) << name;
      ASSERT_EQ(graph.donations.size(), 2U) << name;
      std::set<std::string> donated;
      for (const graph::Donation& pair : graph.donations) {
        const graph::GraphInput& input = graph.inputs[static_cast<std::size_t>(pair.input)];
        const graph::GraphOutput& output = graph.outputs[static_cast<std::size_t>(pair.output)];
        EXPECT_EQ(input.type, graph.type_of(output.value)) << name;
        donated.insert(input.name);
      }
      EXPECT_EQ(donated.size(), 2U) << name;
    }
  }
}

// A draft pass only reads the rings: a root that is not written must not be donated.
TEST(LazyViews, DraftGraphsReadTheStatesOnly) {
  const graph::Graph graph = engine::trace_draft(tracer("micro"), 2);
  EXPECT_EQ(graph.find_input("kv_blocks"), -1);
  EXPECT_GE(graph.find_input("kv_states"), 0);
  EXPECT_TRUE(graph.donations.empty());
}

// No intermediate is as large as the records of a layer in a whole root, except the root versions themselves.
TEST(LazyViews, NoWholeLayerIntermediate) {
  for (const char* name : kModels) {
    const graph::Graph graph = engine::trace_decode(tracer(name), 2);
    for (const graph::Node& node : graph.nodes) {
      for (const TensorType& type : node.results) {
        if (node.op->name == "state_store" || node.op->name == "compress_pool") continue;
        EXPECT_FALSE(type == tracer(name).kv_blocks().type || type == tracer(name).kv_states().type) << node.path;
      }
    }
  }
}

// A view is plain data without a graph value, so it cannot carry one from a trace into another.
static_assert(std::is_trivially_copyable_v<kv::CacheView>);

TEST(SingleStore, OneStoreForEveryRecordKindAndLayer) {
  for (const char* name : kModels) {
    const auto& config = tiny_model(name)->config();
    const graph::Graph graph = engine::trace_decode(tracer(name), 8);
    std::map<std::pair<std::string, std::int64_t>, int> stores;
    for (const graph::Node& node : graph.nodes) {
      if (node.op->name == "state_store") ++stores[{node.attrs.word("kind"), node.attrs.integer("owner")}];
      if (node.op->name == "compress_pool") ++stores[{"ca_state", node.attrs.integer("owner")}];  // stores what it pools
    }
    std::map<std::pair<std::string, std::int64_t>, int> expected;
    for (std::int64_t layer = 0; layer < config.num_layers_with_drafts(); ++layer) expected[{"swa", layer}] = 1;
    for (const std::int64_t owner : config.kv_source_layer_ids) {
      expected[{"ca", owner}] = expected[{"ica", owner}] = 1;
      if (config.ratio(owner) > 1) expected[{"ca_state", owner}] = 1;
    }
    EXPECT_EQ(stores, expected) << name;
  }
}

/// Aliases written roots only, each once, and the verifier (G006, G007) agrees.
TEST(Alias, PairsAreTheWrittenRoots) {
  for (const char* name : kModels) {
    const graph::Graph graph = engine::trace_decode(tracer(name), 4);
    EXPECT_TRUE(graph::verify(graph).has_value()) << name;
    std::map<graph::ValueId, std::int32_t> root_of;  // root versions -> input
    for (std::int32_t i = 0; i < graph.num_inputs(); ++i) {
      if (graph.inputs[static_cast<std::size_t>(i)].role == graph::InputRole::kState) root_of[{i, 0}] = i;
    }
    std::set<std::int32_t> written;
    for (std::int32_t n = 0; n < static_cast<std::int32_t>(graph.nodes.size()); ++n) {
      const graph::Node& node = graph.nodes[static_cast<std::size_t>(n)];
      for (const graph::InPlace& pair : node.op->in_place) {
        const auto it = root_of.find(node.operands[static_cast<std::size_t>(pair.operand)]);
        ASSERT_NE(it, root_of.end()) << node.path;
        written.insert(it->second);
        root_of[{graph.num_inputs() + n, pair.result}] = it->second;
      }
    }
    std::set<std::int32_t> aliased;
    for (const graph::Donation& pair : graph.donations) {
      EXPECT_EQ(root_of.at(graph.outputs[static_cast<std::size_t>(pair.output)].value), pair.input) << name;
      aliased.insert(pair.input);
    }
    EXPECT_EQ(aliased, written) << name;
  }
}

// ---- the trace and the process ----------------------------------------------------------------------------------------

TEST(TraceHermetic, NoEnvironmentLibraryOrDeviceQuery) {
  for (const char* name : kModels) {
    engine::ModelRunner& runner = tracer(name);
    const std::int64_t getenv_before = num_getenv;
    const std::int64_t dlopen_before = num_dlopen;
    for (const std::int64_t size : kBatchSizes) engine::trace_decode(runner, size);
    if (tiny_model(name)->weights().draft != nullptr) engine::trace_draft(runner, 2);
    EXPECT_EQ(num_getenv, getenv_before) << name;
    EXPECT_EQ(num_dlopen, dlopen_before) << name;
    EXPECT_FALSE(base::in_trace());
  }
}

TEST(TraceHermetic, TheTrapsWork) {
  const std::int64_t getenv_before = num_getenv;
  const std::int64_t dlopen_before = num_dlopen;
  static_cast<void>(base::process_variable("HOME"));
  static_cast<void>(dlopen(nullptr, RTLD_LAZY));
  EXPECT_EQ(num_getenv, getenv_before + 1);
  EXPECT_EQ(num_dlopen, dlopen_before + 1);
}

// A value of one trace is refused by another (GraphBreaks.MovedAndForeignValues); here: two traces of a model are equal.
TEST(TraceHermetic, TwoTracesGiveTheSameGraph) {
  for (const char* name : kModels) {
    const auto other = make_runner(name, options_for(GraphMode::kEager));
    EXPECT_TRUE(engine::trace_decode(tracer(name), 8) == engine::trace_decode(*other, 8)) << name;
  }
}

TEST(ConfigFrozen, LaterChangesOfTheEnvironmentHaveNoEffect) {
  unsetenv("DEEPINFER_ENFORCE_EAGER");
  const auto config = base::Environ::capture();
  ASSERT_TRUE(config.has_value());
  const auto runner = make_runner("micro", options_for(GraphMode::kGraph));
  const auto step = [&] {
    Stream stream(*runner, random_tokens("micro", 40, 5));
    stream.prefill(30);
    return stream.decode(4);
  };
  std::map<std::string, std::string, std::less<>> before;
  for (const base::EnvVariable& v : base::env_table()) before[std::string(v.name)] = config->get(v.name.substr(10));
  const Logits logits = step();
  const std::string hash = graph::graph_hash(engine::trace_decode(*runner, 4));
  for (const base::EnvVariable& v : base::env_table()) setenv(std::string(v.name).c_str(), "1", 1);
  const auto changed = base::Environ::capture();
  for (const base::EnvVariable& v : base::env_table()) {
    EXPECT_EQ(config->get(v.name.substr(10)), before[std::string(v.name)]) << v.name;
    ASSERT_TRUE(changed.has_value());
    EXPECT_EQ(changed->get(v.name.substr(10)), "1") << v.name;  // a new snapshot does see the change
  }
  EXPECT_TRUE(same_rows(step(), logits, 0, runner->model().config().vocab_size));
  EXPECT_EQ(graph::graph_hash(engine::trace_decode(*runner, 4)), hash);
  const auto fresh = make_runner("micro", options_for(GraphMode::kGraph));
  EXPECT_EQ(graph::graph_hash(engine::trace_decode(*fresh, 4)), hash);
  for (const base::EnvVariable& v : base::env_table()) unsetenv(std::string(v.name).c_str());
}

}  // namespace
}  // namespace deepinfer::integration
