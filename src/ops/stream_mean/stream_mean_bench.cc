#include <benchmark/benchmark.h>

#include "ops/stream_mean/stream_mean.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void stream_mean_4x5120(benchmark::State& state) {
  Inputs inputs("stream_mean.bench");
  const Tensor streams = inputs.bf16({state.range(0), 4, 5120});
  bench(state, stream_mean_def, {&streams}, {});
}
BENCHMARK(stream_mean_4x5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
