#include <benchmark/benchmark.h>

#include "ops/engram_gate/engram_gate.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void engram_gate_4x5120(benchmark::State& state) {
  Inputs inputs("engram_gate.bench");
  const std::int64_t tokens = state.range(0);
  const Tensor streams = inputs.bf16({tokens, 4, 5120});
  const Tensor kv = inputs.bf16({tokens, 5 * 5120});
  const Tensor weight = inputs.bf16({4, 5120});
  const Tensor mask = inputs.s32({tokens}, 1, 1);
  bench(state, engram_gate_def, {&streams, &kv, &weight, &weight, &mask}, {{"eps", 1e-20}});
}
BENCHMARK(engram_gate_4x5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
