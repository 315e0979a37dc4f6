#include <benchmark/benchmark.h>

#include "ops/gate_scores/gate_scores.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void gate_scores_256(benchmark::State& state) {
  Inputs inputs("gate_scores.bench");
  const Tensor x = inputs.bf16({state.range(0), 5120});
  const Tensor w = inputs.bf16({256, 5120}, 0.02);
  bench(state, gate_scores_def, {&x, &w}, {});
}
BENCHMARK(gate_scores_256)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
