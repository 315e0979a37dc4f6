#include <benchmark/benchmark.h>

#include "ops/kv_pack/kv_pack.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void kv_pack_512(benchmark::State& state, const char* kind) {
  Inputs inputs("kv_pack.bench");
  const Tensor x = inputs.bf16({state.range(0), 512});
  bench(state, kv_pack_def, {&x}, {{"kind", graph::Word{kind}}});
}
BENCHMARK_CAPTURE(kv_pack_512, swa, "swa")->Arg(1)->Arg(128);
BENCHMARK_CAPTURE(kv_pack_512, ca, "ca")->Arg(1)->Arg(128);

}  // namespace
}  // namespace deepinfer::ops::testing
