#include <benchmark/benchmark.h>

#include "ops/rmsnorm/rmsnorm.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void rmsnorm_5120(benchmark::State& state) {
  Inputs inputs("rmsnorm.bench");
  const Tensor x = inputs.bf16({state.range(0), 5120});
  const Tensor gamma = inputs.bf16({5120});
  bench(state, rmsnorm_def, {&x, &gamma}, {{"eps", 1e-20}});
}
BENCHMARK(rmsnorm_5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
