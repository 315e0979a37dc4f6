#include <benchmark/benchmark.h>

#include "ops/embed_rows/embed_rows.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void embed_rows_5120(benchmark::State& state) {
  Inputs inputs("embed_rows.bench");
  const Tensor table = inputs.bf16({1024, 5120});
  const Tensor ids = inputs.s32({state.range(0)}, 0, 1023);
  bench(state, embed_rows_def, {&table, &ids}, {});
}
BENCHMARK(embed_rows_5120)->Arg(1)->Arg(128);

}  // namespace
}  // namespace deepinfer::ops::testing
