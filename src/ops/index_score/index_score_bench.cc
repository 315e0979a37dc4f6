#include <benchmark/benchmark.h>

#include "ops/index_score/index_score.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

/// 32 heads of 128 over range(0) keys in pages of 512.
void index_score_32x128(benchmark::State& state) {
  Inputs inputs("index_score.bench");
  const std::int64_t pages = state.range(0) / 512;
  const Tensor q = inputs.u8({1, 32 * 64});
  const Tensor qs = inputs.u8({1, 32 * 4}, 120, 130);
  const Tensor root = inputs.u8({pages, 512 * 68}, 100, 140);
  Tensor table(DType::kS32, {1, pages});
  for (std::int64_t p = 0; p < pages; ++p) table.as<std::int32_t>()[p] = static_cast<std::int32_t>(p);
  const Tensor weights = inputs.bf16({1, 32});
  const auto rows = static_cast<std::int32_t>(pages * 512);
  const Tensor visible = inputs.s32({1}, rows, rows);
  bench(state, index_score_def, {&q, &qs, &root, &table, &weights, &visible},
        {{"heads", std::int64_t{32}},
         {"base", std::int64_t{0}},
         {"rows", std::int64_t{512}},
         {"row_bytes", std::int64_t{68}}});
}
BENCHMARK(index_score_32x128)->Arg(4096)->Arg(32768);

}  // namespace
}  // namespace deepinfer::ops::testing
