#include "arguments.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

namespace deepinfer::cli {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, changed});
    }
  }
  return row[b.size()];
}

std::string dashed(std::string_view key) {
  std::string out(key);
  std::ranges::replace(out, '_', '-');
  return out;
}

// Values of one member of a configuration file.
std::vector<std::string> config_values(const base::Json& value) {
  std::vector<std::string> out;
  if (value.is_array()) {
    for (const base::Json& item : value.items()) {
      out.push_back(item.is_string() ? item.string() : base::dump_json(item));
    }
  } else if (value.is_object()) {
    for (const auto& [key, item] : value.members()) {
      out.push_back(key + "=" + (item.is_string() ? item.string() : base::dump_json(item)));
    }
  } else {
    out.push_back(value.is_string() ? value.string() : base::dump_json(value));
  }
  return out;
}

}  // namespace

void expect_usage(const Status& status) {
  if (!status) throw UsageError(status.error().to_string());
}

std::string join(std::span<const std::string> words, std::string_view separator) {
  return fmt::format("{}", fmt::join(words, separator));
}

std::vector<std::string> near_names(std::string_view name, std::span<const std::string> candidates) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    const bool related = candidate.starts_with(name) || candidate.find(name) != std::string::npos;
    if (distance <= std::max<std::size_t>(2, name.size() / 3) || related) ranked.emplace_back(distance, candidate);
  }
  std::ranges::sort(ranked);
  std::vector<std::string> out;
  for (std::size_t i = 0; i < std::min<std::size_t>(5, ranked.size()); ++i) out.push_back(ranked[i].second);
  return out;
}

std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    usage_error("\"{}\" is not an integer from {} to {}", text, least, most);
  }
  return value;
}

double parse_number(std::string_view text, double least, double most) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least) || !(value <= most)) {
    usage_error("\"{}\" is not a number from {} to {}", text, least, most);
  }
  return value;
}

void check_choice(std::string_view value, const Choices& choices) {
  if (std::ranges::find(choices.accepted, value) != choices.accepted.end()) return;
  if (std::ranges::find(choices.later, value) != choices.later.end()) {
    usage_error("\"{}\" is not part of this build yet; accepted: {}", value, join(choices.accepted));
  }
  usage_error("\"{}\" is not one of {}", value, join(choices.accepted));
}

struct Arguments::Option {
  Spec spec;
  Setter set;
  std::vector<std::string> raw;  // from the command line
  CLI::Option* parsed = nullptr;
  struct Binding {
    std::string variable;
    std::function<std::string(const std::string&)> translate;
  };
  std::vector<Binding> bindings;
  Resolved resolved{"", "default"};

  bool is_option() const { return spec.name.starts_with("-"); }
};

struct Arguments::Impl {
  CLI::App app;
  std::vector<std::unique_ptr<Option>> options;
  std::vector<std::string> later;
  explicit Impl(const std::string& summary) : app(summary) {}
};

Arguments::Arguments(std::string name, std::string summary) : impl_(std::make_unique<Impl>(summary)) {
  impl_->app.name(std::move(name));
  impl_->app.allow_extras();
  impl_->app.get_formatter()->column_width(34);
}
Arguments::~Arguments() = default;

void Arguments::add(const Spec& spec, Setter setter) {
  auto option = std::make_unique<Option>(Option{.spec = spec, .set = std::move(setter)});
  if (spec.arity == Arity::kFlag) {
    option->parsed = impl_->app.add_flag(spec.name, spec.help);
  } else {
    option->parsed = impl_->app.add_option(spec.name, option->raw, spec.help);
    option->parsed->type_name(spec.value_name)->expected(1)->allow_extra_args(false);
    option->parsed->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  impl_->options.push_back(std::move(option));
}

void Arguments::positional(const Spec& spec, Presence presence, Setter setter) {
  add(spec, std::move(setter));
  if (presence == Presence::kRequired) impl_->options.back()->parsed->required();
}

void Arguments::flag(const std::string& name, const std::string& help, bool& target) {
  add({name, "", help, Arity::kFlag}, [&target](const std::string& value) {
    check_choice(value, {{"true", "false", "1", "0"}});
    target = value == "true" || value == "1";
  });
}

void Arguments::many(const std::string& name, const std::string& value_name, const std::string& help,
                     std::vector<std::string>& target) {
  add({name, value_name, help + " (repeatable)", Arity::kMany},
      [&target](const std::string& value) { target.push_back(value); });
}

void Arguments::later(std::initializer_list<std::string_view> names) {
  impl_->later.insert(impl_->later.end(), names.begin(), names.end());
}

void Arguments::bind(const std::string& name, const std::string& variable,
                     std::function<std::string(const std::string&)> translate) {
  find(name)->bindings.push_back({variable, std::move(translate)});
}

void Arguments::examples(std::string text) { impl_->app.footer("Examples:\n" + std::move(text)); }

Arguments::Option* Arguments::find(std::string_view name) const {
  for (const auto& option : impl_->options) {
    if (option->spec.name == name) return option.get();
  }
  return nullptr;
}

std::vector<std::string> Arguments::option_names() const {
  std::vector<std::string> out;
  for (const auto& option : impl_->options) {
    if (option->is_option()) out.push_back(option->spec.name);
  }
  out.emplace_back("--help");
  return out;
}

Arguments::Outcome Arguments::parse(std::span<const std::string> words) {
  try {
    impl_->app.parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::CallForHelp&) {
    return Outcome::kHelp;
  } catch (const CLI::ParseError& error) {
    throw UsageError(error.what());
  }
  for (const std::string& word : impl_->app.remaining()) {
    const std::string name = word.substr(0, word.find('='));
    if (std::ranges::find(impl_->later, name) != impl_->later.end()) {
      usage_error("{} is not part of this build yet; options: {}", name, join(option_names(), " "));
    }
    if (!word.starts_with("-")) usage_error("unexpected argument \"{}\"", word);
    const std::vector<std::string> near = near_names(name, option_names());
    usage_error("unknown option {}{}; options: {}", name, near.empty() ? "" : "; near: " + join(near, " "),
                join(option_names(), " "));
  }
  return Outcome::kRun;
}

std::optional<std::string> Arguments::peek(const std::string& name) const {
  const Option* option = find(name);
  return option != nullptr && !option->raw.empty() ? std::optional(option->raw.back()) : std::nullopt;
}

void Arguments::apply(Option& option, const std::vector<std::string>& values, std::string_view origin,
                      std::string_view from) {
  if (values.size() > 1 && option.spec.arity != Arity::kMany && origin == "file") {
    usage_error("{} ({}) takes one value, not {}", option.spec.name, from, values.size());
  }
  const bool all = option.spec.arity == Arity::kMany;
  try {
    for (std::size_t i = all ? 0 : values.size() - 1; i < values.size(); ++i) option.set(values[i]);
  } catch (const UsageError& error) {
    usage_error("{}{}: {}", option.spec.name, from.empty() ? "" : fmt::format(" ({})", from), error.what());
  }
  option.resolved = {join(values), origin};
}

bool Arguments::apply_environment(Option& option, const base::Environ& env) {
  for (const Option::Binding& binding : option.bindings) {
    if (!env.is_set(binding.variable)) continue;
    std::string value = env.get(binding.variable);
    const std::string from = "DEEPINFER_" + binding.variable;
    if (binding.translate && !value.empty()) {
      try {
        value = binding.translate(value);
      } catch (const UsageError& error) {
        usage_error("{}: {}", from, error.what());
      }
    }
    if (value.empty()) continue;
    apply(option, {value}, "environment", from);
    return true;
  }
  return false;
}

void Arguments::check_config(const base::Json& config) const {
  std::vector<std::string> names;
  for (const auto& option : impl_->options) {
    if (option->is_option()) names.push_back(option->spec.name.substr(2));
  }
  for (const auto& [key, value] : config.members()) {
    if (std::ranges::find(names, dashed(key)) != names.end()) continue;
    usage_error("--config: unknown key \"{}\"; accepted: {}", key, join(names));
  }
}

void Arguments::resolve(const base::Environ& env, const base::Json* config) {
  if (config != nullptr) check_config(*config);
  for (const auto& option : impl_->options) {
    if (option->parsed->count() > 0) {
      const bool flag = option->spec.arity == Arity::kFlag;
      apply(*option, flag ? std::vector<std::string>{"true"} : option->raw, "flag", "");
      continue;
    }
    if (apply_environment(*option, env) || config == nullptr || !option->is_option()) continue;
    for (const auto& [key, value] : config->members()) {
      if (dashed(key) != option->spec.name.substr(2)) continue;
      const bool one = option->spec.arity != Arity::kMany;
      if (one && (value.is_object() || (value.is_array() && value.items().empty()))) {
        usage_error("--config: {} is {}, one value is expected", key, base::dump_json(value));
      }
      apply(*option, config_values(value), "file", "--config");
    }
  }
}

std::string Arguments::help() const { return impl_->app.help(); }

std::optional<Arguments::Resolved> Arguments::resolved(std::string_view variable) const {
  for (const auto& option : impl_->options) {
    if (option->resolved.origin == "default") continue;
    for (const Option::Binding& binding : option->bindings) {
      if (binding.variable == variable) return option->resolved;
    }
  }
  return std::nullopt;
}

}  // namespace deepinfer::cli
