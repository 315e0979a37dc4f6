#include "base/environ.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>

#include "base/check.h"
#include "base/error.h"
#include "base/trace_guard.h"

extern char** environ;  // NOLINT: POSIX gives no header for it

namespace deepinfer::base {
namespace {

constexpr std::string_view kPrefix = "DEEPINFER_";
constexpr EnvVariable kTable[] = {
#define DI_ENV(name, default_value, accepted, meaning) {"DEEPINFER_" name, default_value, accepted, meaning},
#include "base/environ.def"
#undef DI_ENV
};

const EnvVariable* find(std::string_view full_name) {
  const auto* it = std::ranges::find(kTable, full_name, &EnvVariable::name);
  return it == std::end(kTable) ? nullptr : it;
}

// Names of the table that start with the first 16 characters of `name`, at least the NEURON ones.
std::string near_names(std::string_view name) {
  std::string out;
  for (const std::size_t length : {std::size_t{20}, std::size_t{17}}) {
    for (const EnvVariable& row : kTable) {
      if (row.name.starts_with(name.substr(0, length))) out += (out.empty() ? "" : ", ") + std::string(row.name);
    }
    if (!out.empty()) return out;
  }
  return out;
}

}  // namespace

std::span<const EnvVariable> env_table() { return kTable; }

Result<Environ> Environ::capture() {
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return from(entries);
}

Result<Environ> Environ::from(std::span<const std::string> entries) {
  Environ out;
  for (const std::string& entry : entries) {
    const std::size_t equals = entry.find('=');
    if (equals == std::string::npos || !entry.starts_with(kPrefix)) continue;
    std::string name = entry.substr(0, equals);
    if (find(name) != nullptr) {
      out.values_[name] = entry.substr(equals + 1);
    } else if (name.starts_with("DEEPINFER_NEURON_")) {
      return errorf(ErrorCode::kInvalidArgument, "unknown variable {}; known are {}", name, near_names(name));
    } else {
      out.unknown_.push_back(std::move(name));
    }
  }
  return out;
}

std::string Environ::get(std::string_view name) const {
  refuse_in_trace("read of the environment");
  const std::string full = std::string(kPrefix) + std::string(name);
  const EnvVariable* row = find(full);
  DI_CHECK(row != nullptr, "{} is not in the table", full);
  const auto it = values_.find(full);
  return it != values_.end() ? it->second : std::string(row->default_value);
}

bool Environ::is_set(std::string_view name) const { return values_.contains(std::string(kPrefix) + std::string(name)); }

std::string process_variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

}  // namespace deepinfer::base
