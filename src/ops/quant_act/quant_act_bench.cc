#include <benchmark/benchmark.h>

#include "ops/quant_act/quant_act.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void quant_act_5120(benchmark::State& state) {
  Inputs inputs("quant_act.bench");
  const Tensor x = inputs.bf16({state.range(0), 5120});
  bench(state, quant_act_def, {&x}, {});
}
BENCHMARK(quant_act_5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
