#include <benchmark/benchmark.h>

#include "ops/state_store/state_store.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void state_gather_window(benchmark::State& state) {
  Inputs inputs("state_store.bench");
  const Tensor root = inputs.u8({8, 134 * 528});
  const Tensor slot = inputs.s32({128 * state.range(0)}, 0, 7);
  const Tensor pos = inputs.s32({128 * state.range(0)}, 0, 133);
  graph::Attrs attrs = view_attrs({.kind = "swa", .rows = 134});
  attrs.set("row_bytes", std::int64_t{528});
  bench(state, state_gather_def, {&root, &slot, &pos}, attrs);
}
BENCHMARK(state_gather_window)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
