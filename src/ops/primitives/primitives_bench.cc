#include <benchmark/benchmark.h>

#include "ops/primitives/primitives.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void gather_rows_528(benchmark::State& state) {
  Inputs inputs("gather_rows.bench");
  const Tensor src = inputs.u8({4096, 528});
  const Tensor idx = inputs.s32({state.range(0)}, 0, 4095);
  bench(state, gather_rows_def, {&src, &idx}, {});
}
BENCHMARK(gather_rows_528)->Arg(128)->Arg(4096);

void concat_5120(benchmark::State& state) {
  Inputs inputs("concat.bench");
  const Tensor part = inputs.bf16({state.range(0), 5120});
  bench(state, concat_def, {&part, &part}, {{"axis", std::int64_t{1}}});
}
BENCHMARK(concat_5120)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
