// The program `deepinfer`: finds the command, gathers its options, runs it, and turns errors into exit codes (cli.md).
#include <algorithm>
#include <cstdio>
#include <new>

#include "action.h"
#include "base/check.h"
#include "base/log.h"
#include "inputs.h"
#include "interrupt.h"
#include "settings.h"
#include "terminal.h"

namespace deepinfer::cli {

#define DI_COMMAND(words, suffix, summary) std::unique_ptr<Action> make_##suffix();
#define DI_LATER(words, summary)
#include "commands.inc"
#undef DI_COMMAND
#undef DI_LATER

std::span<const Command> commands() {
  static constexpr Command kCommands[] = {
#define DI_COMMAND(words, suffix, summary) {words, summary, &make_##suffix},
#define DI_LATER(words, summary) {words, summary, nullptr},
#include "commands.inc"
#undef DI_COMMAND
#undef DI_LATER
  };
  return kCommands;
}

std::vector<std::string> command_names(std::string_view group) {
  std::vector<std::string> out;
  for (const Command& command : commands()) {
    if (command.make == nullptr) continue;
    const std::size_t blank = command.name.find(' ');
    const bool member = blank != std::string_view::npos && command.name.substr(0, blank) == group;
    if (!group.empty() && !member) continue;
    std::string word(group.empty() ? command.name.substr(0, blank) : command.name.substr(blank + 1));
    if (out.empty() || out.back() != word) out.push_back(std::move(word));
  }
  return out;
}

std::string command_table(std::string_view group) {
  std::vector<std::vector<std::string>> rows;
  for (const Command& command : commands()) {
    if (!group.empty() && !command.name.starts_with(std::string(group) + " ")) continue;
    rows.push_back({"  " + std::string(command.name),
                    std::string(command.summary) + (command.make == nullptr ? " (not in this build yet)" : "")});
  }
  return table(rows);
}

std::unique_ptr<Arguments> describe(const Command& command, Action& action) {
  auto out = std::make_unique<Arguments>("deepinfer " + std::string(command.name), std::string(command.summary));
  action.define(*out);
  return out;
}

namespace {

/// Options of every command.
struct GlobalFlags {
  std::string log_level = "warn";
  std::string config;

  void define(Arguments& a) {
    a.choice("--log-level", "messages on standard error; default: warn",
             {{"trace", "debug", "info", "warn", "error", "off"}}, log_level);
    a.bind("--log-level", "CPP_LOG_LEVEL");
    a.text("--config", "FILE", "JSON object of options; flags and the environment win", config);
  }
};

std::string overview() {
  return "DeepInfer: DeepSeek-V4.1 inference on this machine\n\nUsage: deepinfer COMMAND [options]\n\nCommands:\n" +
         command_table() +
         "\n`deepinfer COMMAND --help` explains a command, `deepinfer env` the environment variables.\n"
         "Examples:\n  deepinfer run --prompt \"What is the capital of France?\"\n  deepinfer doctor --model DIR\n";
}

struct Chosen {
  const Command* command = nullptr;
  std::size_t words = 0;
};

bool is_help(const std::string& word) { return word == "--help" || word == "-h"; }

// The longest command that the words begin with; UsageError naming what there is.
Chosen choose(const std::vector<std::string>& words) {
  const Command* single = nullptr;
  for (const Command& command : commands()) {
    if (words.size() > 1 && command.name == words[0] + " " + words[1]) return {&command, 2};
    if (command.name == words[0]) single = &command;
  }
  if (single != nullptr) return {single, 1};
  const std::vector<std::string> members = command_names(words[0]);
  if (!members.empty()) {
    usage_error("{} {}; accepted: {}", words[0],
                words.size() > 1 ? fmt::format("\"{}\" is no command", words[1]) : "needs a second word",
                join(members));
  }
  const std::vector<std::string> near = near_names(words[0], command_names());
  usage_error("unknown command \"{}\"{}; commands: {}", words[0], near.empty() ? "" : "; near: " + join(near),
              join(command_names()));
}

Result<base::Environ> capture_environment() {
  auto env = base::Environ::capture();
  if (!env) throw UsageError(env.error().message);
  if (!env->unknown().empty()) {
    complain(fmt::format("warning: unknown and ignored: {} (deepinfer env lists the known variables)",
                         join(env->unknown())));
  }
  return env;
}

Result<int> run_command(const Command& command, std::span<const std::string> words) {
  const base::Environ env = *capture_environment();
  const std::unique_ptr<Action> action = command.make();
  const std::unique_ptr<Arguments> arguments = describe(command, *action);
  GlobalFlags flags;
  flags.define(*arguments);
  if (arguments->parse(words) == Arguments::Outcome::kHelp) {
    print(arguments->help());
    return 0;
  }
  std::optional<base::Json> config;
  if (const auto path = arguments->peek("--config")) {
    auto read = read_json_file(*path);
    if (!read) return tl::unexpected(std::move(read).error());
    if (!read->is_object()) return make_error(ErrorCode::kInvalidArgument, *path + ": a JSON object is expected");
    config = std::move(*read);
  }
  if (command.name != "env" && command.name != "help" && command.name != "version") check_environment(env);
  arguments->resolve(env, config ? &*config : nullptr);
  const auto level = base::parse_log_level(flags.log_level);
  base::set_log_level(level.value_or(base::LogLevel::kWarn));
  return action->run({env, *arguments});
}

int report(const Result<int>& result) {
  if (result) return *result;
  complain(result.error().to_string());
  return exit_code_of(result.error().code);
}

int run_program(const std::vector<std::string>& words) {
  if (words.empty() || is_help(words[0])) {
    print(overview());
    return words.empty() ? 2 : 0;
  }
  if (words.size() == 2 && is_help(words[1]) && !command_names(words[0]).empty()) {
    printf_line("Usage: deepinfer {} COMMAND [options]\n\n{}", words[0], command_table(words[0]));
    return 0;
  }
  const Chosen chosen = choose(words[0] == "--version" ? std::vector<std::string>{"version"} : words);
  if (chosen.command->make == nullptr) {
    usage_error("{} is not part of this build yet; commands: {}", chosen.command->name, join(command_names()));
  }
  return report(run_command(*chosen.command, std::span(words).subspan(chosen.words)));
}

// " run", " verify model" or "": what `deepinfer help` takes for these words.
std::string topic(const std::vector<std::string>& words) {
  for (std::size_t count : {std::size_t{2}, std::size_t{1}}) {
    if (words.size() < count) continue;
    const std::string name = count == 2 ? words[0] + " " + words[1] : words[0];
    const bool known =
        std::ranges::any_of(commands(), [&](const Command& c) { return c.name == name && c.make != nullptr; });
    if (known) return " " + name;
  }
  return "";
}

int guarded(const std::vector<std::string>& words) {
  try {
    return run_program(words);
  } catch (const UsageError& error) {
    complain(fmt::format("{} (see `deepinfer help{}`)", error.what(), topic(words)));
    return 2;
  } catch (const CheckFailure& failure) {
    complain(fmt::format("internal error: {}", failure.what()));
    return 1;
  } catch (const std::bad_alloc&) {
    complain("out of memory");
    return exit_code_of(ErrorCode::kUnavailable);
  } catch (const std::exception& error) {
    complain(fmt::format("internal error: {}", error.what()));
    return 1;
  }
}

}  // namespace
}  // namespace deepinfer::cli

int main(int argc, char** argv) {
  using namespace deepinfer::cli;
  occupy_standard_streams();
  install_interrupt_handler();
  const int code = guarded(std::vector<std::string>(argv + 1, argv + argc));
  if (!flush_output() && code == 0) {
    complain("standard output could not be written");
    return 1;
  }
  return code;
}
