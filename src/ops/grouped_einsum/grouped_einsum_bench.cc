#include <benchmark/benchmark.h>

#include "ops/grouped_einsum/grouped_einsum.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void grouped_einsum_8x4096(benchmark::State& state) {
  Inputs inputs("grouped_einsum.bench");
  const Tensor x = inputs.bf16({state.range(0), 8, 4096});
  const Tensor w = inputs.codes({8 * 256, 4096});
  const Tensor ws = inputs.u8({64, 128}, 115, 121);
  bench(state, grouped_einsum_def, {&x, &w, &ws}, {});
}
BENCHMARK(grouped_einsum_8x4096)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
