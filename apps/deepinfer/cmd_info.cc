// `deepinfer env`, `help`, `version` and `completion`.
#include <algorithm>

#include "action.h"
#include "base/error.h"
#include "ops/isa/isa.h"
#include "settings.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

using base::Json;

class Env : public Action {
 public:
  void define(Arguments& a) override {
    model_.define(a);
    a.flag("--json", "one object: name to {value, origin, default, accepted, meaning}", json_);
    a.examples("  deepinfer env\n  DEEPINFER_CPU_ISA=scalar deepinfer env --json\n");
  }
  Result<int> run(const Context& context) override {
    std::vector<std::vector<std::string>> rows{{"variable", "value", "origin", "default", "accepted", "meaning"}};
    Json object = Json::object();
    for (const base::EnvVariable& variable : base::env_table()) {
      const std::string name(variable.name.substr(sizeof("DEEPINFER_") - 1));
      const auto bound = context.arguments.resolved(name);
      const bool set = context.env.is_set(name);
      // An option may translate the variable's words (off = eager), so only a flag or file replaces them here.
      const bool replaced = bound && bound->origin != "environment";
      const std::string value = replaced ? bound->value : context.env.get(name);
      const std::string origin(replaced ? bound->origin : set ? "environment" : "default");
      rows.push_back({std::string(variable.name), shown(value), origin, shown(std::string(variable.default_value)),
                      std::string(variable.accepted), std::string(variable.meaning)});
      object.set(variable.name, Json(Json::Object{{"value", value},
                                                  {"origin", origin},
                                                  {"default", variable.default_value},
                                                  {"accepted", variable.accepted},
                                                  {"meaning", variable.meaning}}));
    }
    json_ ? print_json(object) : print(table(rows));
    return 0;
  }

 private:
  static std::string shown(const std::string& value) { return value.empty() ? "(empty)" : value; }
  ModelFlags model_;
  bool json_ = false;
};

class Help : public Action {
 public:
  void define(Arguments& a) override {
    for (const char* name : {"COMMAND", "SECOND"}) {
      a.positional({name, "", "words of a command"}, Arguments::Presence::kOptional,
                   [this](const std::string& value) { words_.push_back(value); });
    }
    a.examples("  deepinfer help run\n  deepinfer help verify model\n");
  }
  Result<int> run(const Context&) override {
    if (words_.empty()) {
      print("Usage: deepinfer COMMAND [options]\n\n" + command_table());
      return 0;
    }
    const std::string name = join(words_, " ");
    for (const Command& command : commands()) {
      if (command.name != name) continue;
      if (command.make == nullptr) usage_error("{} is not part of this build yet", name);
      const auto action = command.make();
      print(describe(command, *action)->help());
      return 0;
    }
    if (command_names(name).empty()) usage_error("unknown command \"{}\"; commands: {}", name, join(command_names()));
    print(command_table(name));
    return 0;
  }

 private:
  std::vector<std::string> words_;
};

struct Component {
  std::string_view name, licence;
};
// What this program is linked with or compiled from.
constexpr Component kComponents[] = {
    {"CLI11", "BSD-3-Clause"},   {"fmt", "MIT"},
    {"spdlog", "MIT"},           {"nlohmann-json", "MIT"},
    {"tl-expected", "CC0-1.0"},  {"PCRE2", "BSD-3-Clause"},
    {"utf8proc", "MIT"},         {"OpenSSL", "Apache-2.0"},
    {"libedit", "BSD-3-Clause"}, {"tiny-chat (model)", "CC0-1.0"},
};

class Version : public Action {
 public:
  void define(Arguments& a) override {
    a.flag("--json", "one object", json_);
    a.examples("  deepinfer version\n");
  }
  Result<int> run(const Context&) override {
    std::vector<std::string> sets;
    for (const isa::Kernels* kernels : isa::available()) sets.emplace_back(kernels->name);
    if (json_) {
      Json libraries = Json::object();
      for (const Component& part : kComponents) libraries.set(part.name, part.licence);
      Json isas = Json::array();
      for (const std::string& name : sets) isas.push(name);
      print_json(Json(Json::Object{{"version", DEEPINFER_VERSION},
                                   {"compiler", __VERSION__},
                                   {"build", build()},
                                   {"isa", std::move(isas)},
                                   {"libraries", std::move(libraries)}}));
      return 0;
    }
    printf_line("deepinfer {} ({} build, compiler {})", DEEPINFER_VERSION, build(), __VERSION__);
    printf_line("instruction sets usable here: {}", join(sets));
    std::vector<std::vector<std::string>> rows;
    for (const Component& part : kComponents)
      rows.push_back({"  " + std::string(part.name), std::string(part.licence)});
    print("libraries and licences:\n" + table(rows));
    return 0;
  }

 private:
  static const char* build() {
#ifdef NDEBUG
    return "release";
#else
    return "debug";
#endif
  }
  bool json_ = false;
};

/// Words that the shells complete: first words, second words by group, options by command.
struct Vocabulary {
  std::vector<std::string> first = command_names();
  std::vector<std::pair<std::string, std::vector<std::string>>> groups;
  std::vector<std::pair<std::string, std::vector<std::string>>> options;
};

Vocabulary vocabulary() {
  Vocabulary out;
  for (const std::string& word : out.first) {
    if (auto members = command_names(word); !members.empty()) out.groups.emplace_back(word, std::move(members));
  }
  for (const Command& command : commands()) {
    if (command.make == nullptr) continue;
    const auto action = command.make();
    auto names = describe(command, *action)->option_names();
    names.insert(names.end(), {"--log-level", "--config"});
    out.options.emplace_back(command.name, std::move(names));
  }
  return out;
}

std::string bash_script(const Vocabulary& words) {
  std::string out =
      "# bash completion of deepinfer:  source <(deepinfer completion bash)\n_deepinfer() {\n"
      "  local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} list\n"
      "  if [ \"$COMP_CWORD\" -eq 1 ]; then\n";
  out += fmt::format("    COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n    return\n  fi\n", join(words.first, " "));
  out += "  case $command in\n";
  for (const auto& [group, members] : words.groups) {
    out += fmt::format("    {})\n      if [ \"$COMP_CWORD\" -eq 2 ]; then\n", group);
    out += fmt::format("        COMPREPLY=($(compgen -W '{}' -- \"$current\"))\n        return\n      fi\n",
                       join(members, " "));
    out += "      command=\"$command ${COMP_WORDS[2]}\" ;;\n";
  }
  out += "  esac\n  case $command in\n";
  for (const auto& [command, names] : words.options)
    out += fmt::format("    '{}') list='{}' ;;\n", command, join(names, " "));
  out +=
      "  esac\n  case $current in\n    -*) COMPREPLY=($(compgen -W \"$list\" -- \"$current\")) ;;\n"
      "    *) COMPREPLY=($(compgen -f -- \"$current\")) ;;\n  esac\n}\ncomplete -o filenames -F _deepinfer deepinfer\n";
  return out;
}

std::string zsh_script(const Vocabulary& words) {
  return "#compdef deepinfer\n# zsh completion of deepinfer:  source <(deepinfer completion zsh)\n"
         "autoload -Uz bashcompinit && bashcompinit\n" +
         bash_script(words);
}

std::string fish_script(const Vocabulary& words) {
  std::string out = "# fish completion of deepinfer:  deepinfer completion fish | source\n";
  out += fmt::format("complete -c deepinfer -n __fish_use_subcommand -f -a '{}'\n", join(words.first, " "));
  for (const auto& [group, members] : words.groups) {
    out += fmt::format("complete -c deepinfer -n '__fish_seen_subcommand_from {}' -f -a '{}'\n", group,
                       join(members, " "));
  }
  for (const auto& [command, names] : words.options) {
    std::string condition;
    for (std::string_view rest = command; !rest.empty();) {
      const std::size_t blank = std::min(rest.find(' '), rest.size());
      condition +=
          fmt::format("{}__fish_seen_subcommand_from {}", condition.empty() ? "" : "; and ", rest.substr(0, blank));
      rest.remove_prefix(std::min(blank + 1, rest.size()));
    }
    for (const std::string& name : names) {
      out += fmt::format("complete -c deepinfer -n '{}' -l {}\n", condition, name.substr(2));
    }
  }
  return out;
}

class Completion : public Action {
 public:
  void define(Arguments& a) override {
    a.positional({"SHELL", "", "bash, zsh or fish"}, Arguments::Presence::kRequired, [this](const std::string& value) {
      check_choice(value, {{"bash", "zsh", "fish"}});
      shell_ = value;
    });
    a.examples(
        "  source <(deepinfer completion bash)\n  deepinfer completion fish > "
        "~/.config/fish/completions/deepinfer.fish\n");
  }
  Result<int> run(const Context&) override {
    const Vocabulary words = vocabulary();
    print(shell_ == "bash" ? bash_script(words) : shell_ == "zsh" ? zsh_script(words) : fish_script(words));
    return 0;
  }

 private:
  std::string shell_;
};

}  // namespace

std::unique_ptr<Action> make_env() { return std::make_unique<Env>(); }
std::unique_ptr<Action> make_help() { return std::make_unique<Help>(); }
std::unique_ptr<Action> make_version() { return std::make_unique<Version>(); }
std::unique_ptr<Action> make_completion() { return std::make_unique<Completion>(); }

}  // namespace deepinfer::cli
