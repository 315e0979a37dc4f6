#include <benchmark/benchmark.h>

#include "ops/hc_expand/hc_expand.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void hc_expand_4x5120(benchmark::State& state) {
  Inputs inputs("hc_expand.bench");
  const std::int64_t tokens = state.range(0);
  const Tensor y = inputs.bf16({tokens, 5120});
  const Tensor streams = inputs.bf16({tokens, 4, 5120});
  const Tensor post = inputs.f32({tokens, 4});
  const Tensor comb = inputs.f32({tokens, 4, 4});
  bench(state, hc_expand_def, {&y, &streams, &post, &comb}, {});
}
BENCHMARK(hc_expand_4x5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
