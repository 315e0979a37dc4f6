// Options of one command: declaration with typed targets, the three sources of values, help.
//
// A value comes from the command line, else from the environment, else from the file of `--config`, else it keeps its
// default (cli.md). Targets are references to members of the command and are written by `resolve`. All mistakes are
// UsageError: exit code 2, the message names the option, the value found and the values accepted.
// arguments.cc is the only file that includes CLI11, which splits the command line and lays out the help.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/json.h"
#include "deepinfer/status.h"

namespace deepinfer::cli {

/// Wrong usage of the command line: exit code 2.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};
template <typename... Args>
[[noreturn]] void usage_error(fmt::format_string<Args...> format, Args&&... args) {
  throw UsageError(fmt::format(format, std::forward<Args>(args)...));
}
/// Turns an error about a value that stands on the command line into wrong usage; other errors pass.
void expect_usage(const Status& status);

std::string join(std::span<const std::string> words, std::string_view separator = ", ");
/// Candidates within a few edits of `name`, or that begin with it; at most five.
std::vector<std::string> near_names(std::string_view name, std::span<const std::string> candidates);

// Text of a value to its type; UsageError naming the value and the range.
std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most);
double parse_number(std::string_view text, double least, double most);

/// Values of a choice, and values of cli.md that this build refuses by saying so.
struct Choices {
  std::vector<std::string> accepted;
  std::vector<std::string> later = {};
};
/// UsageError unless `value` is accepted.
void check_choice(std::string_view value, const Choices& choices);

class Arguments {
 public:
  enum class Arity : std::uint8_t { kFlag, kOne, kMany };
  enum class Presence : std::uint8_t { kOptional, kRequired };
  /// Throws UsageError with a message that need not name the option.
  using Setter = std::function<void(const std::string& value)>;
  struct Spec {
    std::string name;        ///< "--max-tokens", or "DIR" for a positional
    std::string value_name;  ///< "N" in the help
    std::string help;
    Arity arity = Arity::kOne;
  };

  /// `name` is the whole command: "deepinfer verify model".
  Arguments(std::string name, std::string summary);
  ~Arguments();
  Arguments(const Arguments&) = delete;
  Arguments& operator=(const Arguments&) = delete;

  void add(const Spec& spec, Setter setter);
  void positional(const Spec& spec, Presence presence, Setter setter);
  void flag(const std::string& name, const std::string& help, bool& target);
  template <typename T>  // std::string or std::optional of it
  void text(const std::string& name, const std::string& value_name, const std::string& help, T& target) {
    add({name, value_name, help}, [&target](const std::string& value) { target = value; });
  }
  void many(const std::string& name, const std::string& value_name, const std::string& help,
            std::vector<std::string>& target);
  struct Integers {
    std::int64_t least = 0;
    std::int64_t most = INT32_MAX;
  };
  template <typename T>  // std::int64_t or std::optional of it
  void integer(const std::string& name, const std::string& help, Integers range, T& target) {
    add({name, "N", fmt::format("{} ({} … {})", help, range.least, range.most)},
        [&target, range](const std::string& value) { target = parse_integer(value, range.least, range.most); });
  }
  struct Numbers {
    double least = 0;
    double most = 1;
  };
  template <typename T>  // double or std::optional of it
  void number(const std::string& name, const std::string& help, Numbers range, T& target) {
    add({name, "X", fmt::format("{} ({} … {})", help, range.least, range.most)},
        [&target, range](const std::string& value) { target = parse_number(value, range.least, range.most); });
  }
  template <typename T>  // std::string or std::optional of it
  void choice(const std::string& name, const std::string& help, Choices choices, T& target) {
    add({name, join(choices.accepted, "|"), help}, [&target, choices](const std::string& value) {
      check_choice(value, choices);
      target = value;
    });
  }
  /// Options of cli.md that this build does not have: using one is wrong usage that says so.
  void later(std::initializer_list<std::string_view> names);
  /// `variable` without the prefix gives the value of option `name` when it is set; `translate` turns its text into
  /// the option's, "" = no opinion. Earlier bindings of an option win.
  void bind(const std::string& name, const std::string& variable,
            std::function<std::string(const std::string&)> translate = {});
  void examples(std::string text);

  enum class Outcome : std::uint8_t { kRun, kHelp };
  /// Splits the words behind the command. Throws UsageError.
  Outcome parse(std::span<const std::string> words);
  /// Fills all targets. `config`: members named like the options, "max-tokens" or "max_tokens". Throws UsageError.
  void resolve(const base::Environ& env, const base::Json* config);

  std::string help() const;
  /// First value of an option on the command line, before resolve().
  std::optional<std::string> peek(const std::string& name) const;
  struct Resolved {
    std::string value;
    std::string_view origin;  ///< "flag", "environment", "file" or "default"
  };
  /// After resolve(): the option that a variable is bound to, if it got a value.
  std::optional<Resolved> resolved(std::string_view variable) const;
  /// Names of all options ("--json", ...), without positionals.
  std::vector<std::string> option_names() const;

 private:
  struct Option;
  struct Impl;
  Option* find(std::string_view name) const;
  void apply(Option& option, const std::vector<std::string>& values, std::string_view origin, std::string_view from);
  bool apply_environment(Option& option, const base::Environ& env);
  void check_config(const base::Json& config) const;

  std::unique_ptr<Impl> impl_;
};

}  // namespace deepinfer::cli
