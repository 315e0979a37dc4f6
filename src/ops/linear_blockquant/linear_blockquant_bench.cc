#include <benchmark/benchmark.h>

#include "ops/linear_blockquant/linear_blockquant.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

constexpr std::int64_t kRows = 2048;
constexpr std::int64_t kColumns = 5120;

void linear_fp8_5120(benchmark::State& state) {
  Inputs inputs("linear_blockquant.bench8");
  const Tensor codes = inputs.codes({state.range(0), kColumns});
  const Tensor scales = inputs.u8({state.range(0), kColumns / 32}, 115, 121);
  const Tensor w = inputs.codes({kRows, kColumns});
  const Tensor ws = inputs.u8({kRows / 32, kColumns / 32}, 112, 122);
  bench(state, linear_blockquant_def, {&codes, &scales, &w, &ws}, {{"wfmt", graph::Word{"e4m3"}}});
}
BENCHMARK(linear_fp8_5120)->Arg(1)->Arg(8);

void linear_fp4_5120(benchmark::State& state) {
  Inputs inputs("linear_blockquant.bench4");
  const Tensor codes = inputs.codes({state.range(0), kColumns});
  const Tensor scales = inputs.u8({state.range(0), kColumns / 32}, 115, 121);
  const Tensor w = inputs.u8({kRows, kColumns / 2});
  const Tensor ws = inputs.u8({kRows, kColumns / 32}, 112, 122);
  bench(state, linear_blockquant_def, {&codes, &scales, &w, &ws},
        {{"wfmt", graph::Word{"e2m1"}}, {"nb", std::int64_t{1}}});
}
BENCHMARK(linear_fp4_5120)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
