#include <benchmark/benchmark.h>

#include "ops/hc_init/hc_init.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void hc_init_5120(benchmark::State& state) {
  Inputs inputs("hc_init.bench");
  const Tensor x = inputs.bf16({state.range(0), 5120});
  bench(state, hc_init_def, {&x}, {{"streams", std::int64_t{4}}});
}
BENCHMARK(hc_init_5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
