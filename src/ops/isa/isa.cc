#include "ops/isa/isa.h"

#include <array>
#include <string>

#include "base/error.h"
#include "ops/isa/isa_tables.h"
#include "tensor/tensor.h"

namespace deepinfer::isa {
namespace {

struct Entry {
  std::string_view name;
  const Kernels& (*table)();
  bool usable;
};

/// Every table of this build, slowest first.
std::span<const Entry> entries() {
#if defined(DEEPINFER_HAVE_X86)
  // Every CPU with AVX2 has the half-precision conversions, and not every compiler can ask for them.
  static const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  static const bool has_avx512 = has_avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                                 __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq") &&
                                 __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni");
  // The tables themselves are touched only where they can run.
  static const std::array<Entry, 3> all = {Entry{"scalar", scalar, true}, Entry{"avx2", avx2, has_avx2},
                                           Entry{"avx512", avx512, has_avx512}};
#else
  static const std::array<Entry, 1> all = {Entry{"scalar", scalar, true}};
#endif
  return all;
}

struct Usable {
  std::array<const Kernels*, 3> tables{};
  std::size_t count = 0;
};

Usable find_usable() {
  Usable usable;
  for (const Entry& entry : entries()) {
    if (entry.usable) usable.tables[usable.count++] = &entry.table();
  }
  return usable;
}

}  // namespace

void* scratch(std::int64_t bytes) {
  static thread_local Buffer buffer;
  if (buffer.size() < static_cast<std::size_t>(bytes)) buffer = Buffer(static_cast<std::size_t>(bytes));
  return buffer.data();
}

std::span<const Kernels* const> available() {
  static const Usable usable = find_usable();
  return {usable.tables.data(), usable.count};
}

Result<const Kernels*> choose(std::string_view name) {
  if (name.empty()) return available().back();
  std::string known;
  for (const Entry& entry : entries()) {
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
    if (entry.name != name) continue;
    if (entry.usable) return &entry.table();
    return errorf(ErrorCode::kUnavailable, "instruction set '{}' is not supported by this CPU", name);
  }
  return errorf(ErrorCode::kInvalidArgument, "unknown instruction set '{}', accepted: {}", name, known);
}

}  // namespace deepinfer::isa
