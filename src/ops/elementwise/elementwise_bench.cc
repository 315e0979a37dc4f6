#include <benchmark/benchmark.h>

#include "ops/elementwise/elementwise.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void add_bf16(benchmark::State& state) {
  Inputs inputs("add.bench");
  const Tensor a = inputs.bf16({state.range(0), 5120});
  bench(state, add_def, {&a, &a}, {});
}
BENCHMARK(add_bf16)->Arg(1)->Arg(64);

}  // namespace
}  // namespace deepinfer::ops::testing
