#include <benchmark/benchmark.h>

#include "ops/testing/op_bench.h"
#include "ops/topk_select/topk_select.h"

namespace deepinfer::ops::testing {
namespace {

void topk_select_512(benchmark::State& state) {
  Inputs inputs("topk_select.bench");
  const Tensor scores = inputs.bf16({1, state.range(0)});
  const auto rows = static_cast<std::int32_t>(state.range(0));
  const Tensor visible = inputs.s32({1}, rows, rows);
  bench(state, topk_select_def, {&scores, &visible}, {{"k", std::int64_t{512}}});
}
BENCHMARK(topk_select_512)->Arg(512)->Arg(32768)->Arg(1 << 20);

}  // namespace
}  // namespace deepinfer::ops::testing
