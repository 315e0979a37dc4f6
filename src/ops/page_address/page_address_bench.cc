#include <benchmark/benchmark.h>

#include "ops/page_address/page_address.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void page_address_512(benchmark::State& state) {
  Inputs inputs("page_address.bench");
  const Tensor ids = inputs.s32({state.range(0), 512}, 0, 64 * 100 - 1);
  const Tensor table = inputs.s32({state.range(0), 100}, 0, 1000);
  bench(state, page_address_def, {&ids, &table}, {{"rows", std::int64_t{64}}});
}
BENCHMARK(page_address_512)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
