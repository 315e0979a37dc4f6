#include <benchmark/benchmark.h>

#include "ops/gate_topk/gate_topk.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void gate_topk_6_of_384(benchmark::State& state) {
  Inputs inputs("gate_topk.bench");
  const std::int64_t tokens = state.range(0);
  const Tensor scores = inputs.f32({tokens, 384});
  const Tensor bias = inputs.f32({384});
  const Tensor on = inputs.s32({tokens}, 1, 1);
  const Tensor off = inputs.s32({tokens}, 0, 0);
  bench(state, gate_topk_def, {&scores, &bias, &on, &off, &off},
        {{"k", std::int64_t{6}}, {"route_scale", 1.5}, {"layer", std::int64_t{0}}});
}
BENCHMARK(gate_topk_6_of_384)->Arg(1)->Arg(128);

}  // namespace
}  // namespace deepinfer::ops::testing
