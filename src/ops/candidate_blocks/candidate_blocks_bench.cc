#include <benchmark/benchmark.h>

#include "ops/candidate_blocks/candidate_blocks.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void candidate_blocks_2048(benchmark::State& state) {
  Inputs inputs("candidate_blocks.bench");
  const Tensor scores = inputs.bf16({1, state.range(0)});
  const auto rows = static_cast<std::int32_t>(state.range(0));
  const Tensor visible = inputs.s32({1}, rows, rows);
  bench(state, candidate_blocks_def, {&scores, &visible}, {{"keep", std::int64_t{2048}}});
}
BENCHMARK(candidate_blocks_2048)->Arg(32768)->Arg(1 << 20);

}  // namespace
}  // namespace deepinfer::ops::testing
