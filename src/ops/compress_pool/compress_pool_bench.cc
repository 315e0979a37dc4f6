#include <benchmark/benchmark.h>

#include "ops/compress_pool/compress_pool.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

/// range(0) sequences, each completing a pair.
void compress_pool_512(benchmark::State& state) {
  Inputs inputs("compress_pool.bench");
  const std::int64_t tokens = state.range(0);
  const Tensor kv = inputs.f32({tokens, 512});
  const Tensor gate = inputs.f32({tokens, 512});
  const Tensor root = Tensor::zeros({DType::kU8, {tokens, 8 * 4096}});
  Tensor slot(DType::kS32, {tokens});
  for (std::int64_t t = 0; t < tokens; ++t) slot.as<std::int32_t>()[t] = static_cast<std::int32_t>(t);
  const Tensor pos = inputs.s32({tokens}, 1, 1);
  const Tensor prev = inputs.s32({tokens}, 0, 0);
  bench(state, compress_pool_def, {&kv, &gate, &root, &slot, &pos, &prev, &pos},
        {{"owner", std::int64_t{2}}, {"base", std::int64_t{0}}, {"rows", std::int64_t{8}}});
}
BENCHMARK(compress_pool_512)->Arg(1)->Arg(8);

}  // namespace
}  // namespace deepinfer::ops::testing
