// Cost of the executor itself: a graph of 1000 nodes whose kernels do next to nothing. Divide by 1000 for one node.
#include <benchmark/benchmark.h>

#include <chrono>

#include "device/host/host_executable.h"
#include "graph/testing/toy_ops.h"
#include "graph/trace_emitter.h"
#include "ops/isa/isa.h"

namespace deepinfer::device {
namespace {

constexpr int kNumNodes = 1000;

graph::OpDef trivial_op() {
  graph::OpDef op = graph::testing::toy_add;
  op.kernel = [](const graph::OpCall& call) { benchmark::DoNotOptimize(call.out[0].data); };
  return op;
}

struct Chain {
  graph::OpDef op = trivial_op();
  Tensor x = Tensor::zeros({DType::kF32, {4}});
  std::map<std::string, graph::Value, std::less<>> operator()(graph::Emitter& e) const {
    graph::Value value = e.host("x", x.type());
    for (int i = 0; i < kNumNodes; ++i) value = e.emit_one(op, std::array{value});
    return {{"y", value}};
  }
};

struct Machine {
  base::ThreadPool pool{1};
  graph::Scratch scratch;
  graph::KernelContext ctx{&pool, &isa::scalar(), &scratch};
};

void planned_1000_nodes(benchmark::State& state) {
  const Chain chain;
  Machine machine;
  graph::TraceEmitter trace("any", "chain");
  auto executable = *HostExecutable::compile(trace.finish(chain(trace)), machine.ctx, RunChecks::kOff);
  static_cast<void>(executable->bind({}));
  if (state.range(0) == 1) executable->start_profile();
  for (auto _ : state) static_cast<void>(executable->run());
  state.counters["per_node"] =
      benchmark::Counter(kNumNodes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(planned_1000_nodes)->ArgName("profiled")->Arg(0)->Arg(1);

// The same walk after the caches were swept, as between the steps of a model that streams gigabytes of weights.
void planned_1000_nodes_cold(benchmark::State& state) {
  const Chain chain;
  Machine machine;
  graph::TraceEmitter trace("any", "chain");
  auto executable = *HostExecutable::compile(trace.finish(chain(trace)), machine.ctx, RunChecks::kOff);
  static_cast<void>(executable->bind({}));
  std::vector<std::uint64_t> sweep(std::size_t{1} << 24);
  for (auto _ : state) {
    for (std::size_t i = 0; i < sweep.size(); i += 8) ++sweep[i];
    const auto begin = std::chrono::steady_clock::now();
    static_cast<void>(executable->run());
    state.SetIterationTime(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
}
BENCHMARK(planned_1000_nodes_cold)->UseManualTime()->Iterations(30);

void eager_1000_nodes(benchmark::State& state) {
  const Chain chain;
  Machine machine;
  graph::Bindings bindings;
  bindings.host = {{"x", chain.x.ref()}};
  for (auto _ : state) {
    graph::EagerEmitter eager(machine.ctx, bindings);
    benchmark::DoNotOptimize(chain(eager));
  }
  state.counters["per_node"] =
      benchmark::Counter(kNumNodes, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(eager_1000_nodes);

void trace_verify_plan_deep_chain(benchmark::State& state) {
  const graph::testing::DeepModel model;
  for (auto _ : state) {
    graph::TraceEmitter trace("any", "deep");
    benchmark::DoNotOptimize(graph::plan_buffers(trace.finish(model(trace))));
  }
}
BENCHMARK(trace_verify_plan_deep_chain);

}  // namespace
}  // namespace deepinfer::device
