#include <benchmark/benchmark.h>

#include "ops/linear_bf16/linear_bf16.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void linear_bf16_5120x512(benchmark::State& state) {
  Inputs inputs("linear_bf16.bench");
  const Tensor x = inputs.bf16({state.range(0), 5120});
  const Tensor w = inputs.bf16({512, 5120});
  bench(state, linear_bf16_def, {&x, &w}, {{"out", DType::kF32}});
}
BENCHMARK(linear_bf16_5120x512)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
