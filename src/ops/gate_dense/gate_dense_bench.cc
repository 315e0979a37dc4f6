#include <benchmark/benchmark.h>

#include "ops/gate_dense/gate_dense.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void gate_dense_384(benchmark::State& state) {
  Inputs inputs("gate_dense.bench");
  const Tensor ids = inputs.s32({state.range(0), 6}, 0, 383);
  const Tensor weights = inputs.f32({state.range(0), 6});
  bench(state, gate_dense_def, {&ids, &weights}, {{"first_expert", std::int64_t{0}}, {"num_local", std::int64_t{384}}});
}
BENCHMARK(gate_dense_384)->Arg(1)->Arg(128);

}  // namespace
}  // namespace deepinfer::ops::testing
