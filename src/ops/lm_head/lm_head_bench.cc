#include <benchmark/benchmark.h>

#include "ops/lm_head/lm_head.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void lm_head_8192(benchmark::State& state) {
  Inputs inputs("lm_head.bench");
  const Tensor x = inputs.bf16({state.range(0), 5120});
  const Tensor w = inputs.bf16({8192, 5120});
  bench(state, lm_head_def, {&x, &w}, {});
}
BENCHMARK(lm_head_8192)->Arg(1)->Arg(4);

}  // namespace
}  // namespace deepinfer::ops::testing
