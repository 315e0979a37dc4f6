#include <benchmark/benchmark.h>

#include "ops/swiglu/swiglu.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void swiglu_2304(benchmark::State& state) {
  Inputs inputs("swiglu.bench");
  const Tensor gate = inputs.bf16({state.range(0), 2304});
  const Tensor up = inputs.bf16({state.range(0), 2304});
  bench(state, swiglu_def, {&gate, &up}, {{"limit", 10.0}});
}
BENCHMARK(swiglu_2304)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
