#include <benchmark/benchmark.h>

#include "ops/rope/rope.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void rope_64x512(benchmark::State& state) {
  Inputs inputs("rope.bench");
  const Tensor x = inputs.bf16({state.range(0), 64, 512});
  const Tensor table = inputs.f32({state.range(0), 32});
  bench(state, rope_def, {&x, &table, &table}, {});
}
BENCHMARK(rope_64x512)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
