#include <benchmark/benchmark.h>

#include "ops/sparse_attn/sparse_attn.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

/// One layer of the released model: 64 heads of 512, 128 window rows, range(0) selected rows.
void sparse_attn_64x512(benchmark::State& state) {
  Inputs inputs("sparse_attn.bench");
  const auto selected_rows = static_cast<std::int32_t>(state.range(0));
  const Tensor q = inputs.bf16({1, 64, 512});
  const Tensor window = inputs.u8({128, 528}, 0x20, 0x40);
  const Tensor selected = inputs.u8({selected_rows, 288}, 0x20, 0x40);
  const Tensor wcount = inputs.s32({1}, 128, 128);
  const Tensor scount = inputs.s32({1}, selected_rows, selected_rows);
  const Tensor sink = inputs.f32({64});
  bench(state, sparse_attn_def, {&q, &window, &wcount, &selected, &scount, &sink},
        {{"scale", 0.04419417382415922}, {"window", std::int64_t{128}}});
}
BENCHMARK(sparse_attn_64x512)->Arg(64)->Arg(512);

}  // namespace
}  // namespace deepinfer::ops::testing
