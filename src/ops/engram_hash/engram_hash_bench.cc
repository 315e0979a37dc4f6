#include <benchmark/benchmark.h>

#include "ops/engram_hash/engram_hash.h"
#include "ops/testing/op_bench.h"

namespace deepinfer::ops::testing {
namespace {

void engram_hash_24_columns(benchmark::State& state) {
  Inputs inputs("engram_hash.bench");
  const Tensor history = inputs.s32({state.range(0)}, 0, 99091);
  std::vector<std::int64_t> primes, offsets;
  for (std::int64_t c = 0; c < 24; ++c) {
    primes.push_back(16000057 + 2 * c);
    offsets.push_back(c * 16000200);
  }
  const std::vector<std::int64_t> multipliers = {76632096046245, 4839876093313, 35959672319349, 73987337458391};
  bench(state, engram_hash_def, {&history},
        {{"first", std::int64_t{0}},
         {"primes", primes},
         {"offsets", offsets},
         {"multipliers", multipliers},
         {"pad_class", std::int64_t{2}}});
}
BENCHMARK(engram_hash_24_columns)->Arg(1)->Arg(128);

}  // namespace
}  // namespace deepinfer::ops::testing
