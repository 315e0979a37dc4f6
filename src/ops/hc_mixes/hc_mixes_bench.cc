#include <benchmark/benchmark.h>

#include "ops/hc_mixes/hc_mixes.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void hc_mixes_4x5120(benchmark::State& state) {
  Inputs inputs("hc_mixes.bench");
  const Tensor streams = inputs.bf16({state.range(0), 4, 5120});
  const Tensor fn = inputs.f32({24, 20480}, 0.01);
  const Tensor scale = inputs.f32({3});
  const Tensor base = inputs.f32({24});
  bench(state, hc_mixes_def, {&streams, &fn, &scale, &base}, {{"norm_eps", 1e-20}});
}
BENCHMARK(hc_mixes_4x5120)->Arg(1)->Arg(8)->Arg(128);

}  // namespace
}  // namespace deepinfer::ops::testing
