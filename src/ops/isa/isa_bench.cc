// Throughput of every kernel of every table: bytes of weights (or of elements) per second, K = 5120.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "ops/isa/isa.h"

namespace deepinfer::isa {
namespace {

constexpr std::int64_t kColumns = 5120;
constexpr std::int64_t kIndexColumns = 128;
constexpr std::int64_t kKeyStride = kIndexColumns / 2 + kIndexColumns / 32;

/// Operands of one run: `rows` rows of any weight type in `w`.
struct Operands {
  explicit Operands(std::int64_t rows) : x(kColumns), codes(kColumns), xs(kColumns / 32, 120), w(rows * kColumns * 4),
                                         ws(rows * kColumns / 32, 121), out(rows), q(kIndexColumns, 3) {
    std::mt19937 random(1);
    std::normal_distribution<float> normal;
    for (float& value : x) value = normal(random);
    for (auto& code : codes) code = static_cast<std::uint8_t>(random() & 0x3F);
    // Codes 0x20..0x5F and floats near 2^-60: no subnormal and no NaN in any weight type.
    for (auto& byte : w) byte = static_cast<std::uint8_t>(0x20 + (random() & 0x3F));
  }
  std::vector<float> x;
  std::vector<std::uint8_t> codes, xs, w, ws;
  std::vector<float> out;
  std::vector<std::int8_t> q;
};

using Call = void (*)(const Kernels&, Operands&, std::int64_t rows);

void run(benchmark::State& state, const Kernels* table, Call call, std::int64_t row_bytes) {
  const std::int64_t rows = state.range(0);
  Operands operands(rows);
  for (auto _ : state) {
    call(*table, operands, rows);
    benchmark::DoNotOptimize(operands.out.data());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * rows * row_bytes);
}

struct Case {
  const char* name;
  Call call;
  std::int64_t row_bytes;
};

const Case kCases[] = {
    {"rows_e4m3",
     [](const Kernels& t, Operands& o, std::int64_t n) { t.rows_e4m3(o.x.data(), o.w.data(), kColumns, n, o.out.data()); },
     kColumns},
    {"rows_bf16",
     [](const Kernels& t, Operands& o, std::int64_t n) {
       t.rows_bf16(o.x.data(), reinterpret_cast<const BF16*>(o.w.data()), kColumns, n, o.out.data());
     },
     2 * kColumns},
    {"rows_f32",
     [](const Kernels& t, Operands& o, std::int64_t n) {
       t.rows_f32(o.x.data(), reinterpret_cast<const float*>(o.w.data()), kColumns, n, kColumns, o.out.data());
     },
     4 * kColumns},
    {"rows_f32_bf16map",
     [](const Kernels& t, Operands& o, std::int64_t n) {
       t.rows_f32_bf16map(o.x.data(), reinterpret_cast<const float*>(o.w.data()), kColumns, n, kColumns, o.out.data());
     },
     4 * kColumns},
    {"rows_e2m1",
     [](const Kernels& t, Operands& o, std::int64_t n) {
       t.rows_e2m1(o.codes.data(), o.xs.data(), o.w.data(), o.ws.data(), kColumns, n, o.out.data());
     },
     kColumns / 2 + kColumns / 32},
    {"index_dot",
     [](const Kernels& t, Operands& o, std::int64_t n) {
       t.index_dot(o.q.data(), o.xs.data(), o.w.data(), kKeyStride, kIndexColumns, n, o.out.data());
     },
     kKeyStride},
    {"axpy",
     [](const Kernels& t, Operands& o, std::int64_t n) {
       for (std::int64_t r = 0; r < n; ++r) t.axpy(0.5F, o.x.data(), reinterpret_cast<float*>(o.w.data()), kColumns);
     },
     4 * kColumns},
    {"exp32",
     [](const Kernels& t, Operands& o, std::int64_t n) {
       auto* y = reinterpret_cast<float*>(o.w.data());
       for (std::int64_t r = 0; r < n; ++r) {
         std::copy(o.x.begin(), o.x.end(), y);  // fresh arguments; the copy is included
         t.exp32(y, kColumns);
       }
     },
     4 * kColumns},
};

/// 32 rows stay in the second-level cache (one fp8 scale tile of rows); 4096 come from memory.
const bool kRegistered = [] {
  for (const Kernels* table : available()) {
    for (const Case& c : kCases) {
      const std::string name = std::string(table->name) + "/" + c.name;
      benchmark::RegisterBenchmark(name.c_str(), run, table, c.call, c.row_bytes)->Arg(32)->Arg(4096);
    }
  }
  return true;
}();

}  // namespace
}  // namespace deepinfer::isa
