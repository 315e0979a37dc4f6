#include <benchmark/benchmark.h>

#include "ops/dequant/dequant.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void dequant_5120(benchmark::State& state) {
  Inputs inputs("dequant.bench");
  const Tensor codes = inputs.codes({state.range(0), 5120});
  const Tensor scales = inputs.u8({state.range(0), 160}, 110, 140);
  bench(state, dequant_def, {&codes, &scales}, {});
}
BENCHMARK(dequant_5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
