#include "ops/isa/isa.h"

#include <array>
#include <string>

#include "base/error.h"
#include "ops/isa/isa_tables.h"
#include "tensor/tensor.h"

namespace deepinfer::isa {
namespace {

struct Entry {
  const Kernels* kernels;
  bool usable;
};

/// Every table of this build, slowest first.
std::span<const Entry> entries() {
#if defined(DEEPINFER_HAVE_AVX2)
  static const std::array<Entry, 2> all = {
      Entry{&scalar(), true},
      // Every CPU with AVX2 has the half-precision conversions, and not every compiler can ask for them.
      Entry{&avx2(), __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")},
  };
#else
  static const std::array<Entry, 1> all = {Entry{&scalar(), true}};
#endif
  return all;
}

struct Usable {
  std::array<const Kernels*, 2> tables{};
  std::size_t count = 0;
};

Usable find_usable() {
  Usable usable;
  for (const Entry& entry : entries()) {
    if (entry.usable) usable.tables[usable.count++] = entry.kernels;
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
    if (entry.kernels->name != name) {
      known += (known.empty() ? "" : ", ") + std::string(entry.kernels->name);
      continue;
    }
    if (entry.usable) return entry.kernels;
    return errorf(ErrorCode::kUnavailable, "instruction set '{}' is not supported by this CPU", name);
  }
  return errorf(ErrorCode::kInvalidArgument, "unknown instruction set '{}', accepted: {}", name, known);
}

}  // namespace deepinfer::isa
