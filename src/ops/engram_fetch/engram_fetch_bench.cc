#include <benchmark/benchmark.h>

#include "ops/engram_fetch/engram_fetch.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void engram_fetch_24x256(benchmark::State& state) {
  Inputs inputs("engram_fetch.bench");
  const Tensor table = inputs.codes({4096, 256});
  const Tensor scales = inputs.u8({4096, 8}, 110, 130);
  Tensor ids(DType::kS64, {state.range(0), 24});
  for (std::int64_t i = 0; i < ids.type().num_elements(); ++i) ids.as<std::int64_t>()[i] = i * 1597 % 4096;
  bench(state, engram_fetch_def, {&table, &scales, &ids}, {});
}
BENCHMARK(engram_fetch_24x256)->Arg(1)->Arg(128);

}  // namespace
}  // namespace deepinfer::ops::testing
