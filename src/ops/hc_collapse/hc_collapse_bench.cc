#include <benchmark/benchmark.h>

#include "ops/hc_collapse/hc_collapse.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void hc_collapse_4x5120(benchmark::State& state) {
  Inputs inputs("hc_collapse.bench");
  const Tensor streams = inputs.bf16({state.range(0), 4, 5120});
  const Tensor mix = inputs.f32({state.range(0), 4});
  bench(state, hc_collapse_def, {&streams, &mix}, {});
}
BENCHMARK(hc_collapse_4x5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
