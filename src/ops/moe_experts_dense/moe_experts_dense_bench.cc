#include <benchmark/benchmark.h>

#include "ops/moe_experts_dense/moe_experts_dense.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

/// Six released experts (5120 x 2304), every token on all of them: one decode step of a layer.
void moe_six_experts(benchmark::State& state) {
  Inputs inputs("moe.bench");
  const std::int64_t tokens = state.range(0);
  const Tensor codes = inputs.codes({tokens, 5120});
  const Tensor scales = inputs.u8({tokens, 160}, 115, 120);
  const Tensor w = inputs.f32({tokens, 6});
  const Tensor up = inputs.u8({6, 2304, 2560});
  const Tensor up_scale = inputs.u8({6, 2304, 160}, 115, 120);
  const Tensor down = inputs.u8({6, 5120, 1152});
  const Tensor down_scale = inputs.u8({6, 5120, 72}, 115, 120);
  bench(state, moe_experts_dense_def, {&codes, &scales, &w, &up, &up_scale, &up, &up_scale, &down, &down_scale},
        {{"limit", 10.0}});
}
BENCHMARK(moe_six_experts)->Arg(1)->Arg(8)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace deepinfer::ops::testing
