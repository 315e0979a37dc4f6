#include <benchmark/benchmark.h>

#include "ops/testing/op_bench.h"
#include "ops/window_concat/window_concat.h"

namespace deepinfer::ops::testing {
namespace {

void window_concat_528(benchmark::State& state) {
  Inputs inputs("window_concat.bench");
  const Tensor root = inputs.u8({4, 134 * 528});
  const Tensor slot = inputs.s32({127}, 0, 3);
  const Tensor pos = inputs.s32({127}, 0, 133);
  const Tensor rows = inputs.u8({state.range(0), 528});
  bench(state, window_concat_def, {&root, &slot, &pos, &rows}, view_attrs({.kind = "swa", .rows = 134}));
}
BENCHMARK(window_concat_528)->Arg(16)->Arg(512);

}  // namespace
}  // namespace deepinfer::ops::testing
