// One command of the program: what it accepts and what it does.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arguments.h"
#include "base/environ.h"
#include "deepinfer/status.h"

namespace deepinfer::cli {

/// What a command may use besides its own options.
struct Context {
  const base::Environ& env;
  const Arguments& arguments;
};

class Action {
 public:
  virtual ~Action() = default;
  /// Declares options; called once, before run().
  virtual void define(Arguments& arguments) = 0;
  /// Exit code, or an error whose code decides it (exit_code_of). May throw UsageError.
  virtual Result<int> run(const Context& context) = 0;
};

/// A row of commands.inc.
struct Command {
  std::string_view name;  ///< "run", "verify model"
  std::string_view summary;
  std::unique_ptr<Action> (*make)();  ///< nullptr: a command of a later build
};
std::span<const Command> commands();
/// Names of the first words ("run", "verify", ...) or, with a group, of its second words; without later commands.
std::vector<std::string> command_names(std::string_view group = "");
/// Rows of a group, all rows for "".
std::string command_table(std::string_view group = "");
/// The options of a command as `--help` and the completion scripts see them.
std::unique_ptr<Arguments> describe(const Command& command, Action& action);

}  // namespace deepinfer::cli
