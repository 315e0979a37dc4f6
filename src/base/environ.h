// The environment, read once. The only place of the project that calls getenv.
//
// `Environ::capture()` takes a snapshot of all DEEPINFER_* variables at start; later changes have no effect. Libraries
// receive resolved settings, never this object's source. Reading it inside a graph trace is a graph break (CS-26).
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::base {

struct EnvVariable {
  std::string_view name;  ///< complete: "DEEPINFER_ENFORCE_EAGER"
  std::string_view default_value;
  std::string_view accepted;  ///< for messages and documentation
  std::string_view meaning;
};
/// The whole table (environ.def).
std::span<const EnvVariable> env_table();

class Environ {
 public:
  /// Snapshot of this process. Unknown DEEPINFER_NEURON_* names are an error that lists near names (kInvalidArgument);
  /// other unknown DEEPINFER_* names are kept in unknown() for one warning.
  static Result<Environ> capture();
  /// The same on given "NAME=value" strings; for tests.
  static Result<Environ> from(std::span<const std::string> entries);

  /// Value of a variable of the table: from the environment, else its default. `name` without the prefix.
  std::string get(std::string_view name) const;
  bool is_set(std::string_view name) const;
  const std::vector<std::string>& unknown() const { return unknown_; }

 private:
  std::map<std::string, std::string, std::less<>> values_;
  std::vector<std::string> unknown_;
};

/// HOME, XDG folders and other plain variables that the front end needs; empty when unset.
std::string process_variable(const char* name);

}  // namespace deepinfer::base
