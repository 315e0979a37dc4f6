#include "prompt/request_fields.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "base/error.h"
#include "prompt/json_schema.h"
#include "prompt/python_json.h"
#include "prompt/request_error.h"

namespace deepinfer::prompt {

using base::Json;

namespace {

tl::unexpected<Error> wrong_type(std::string_view path, const Json& found, std::string_view wanted) {
  return request_error("body_invalid_type", path, fmt::format("found a {}, wanted {}", found.type_name(), wanted));
}
tl::unexpected<Error> missing(std::string_view path) {
  return request_error("body_missing_field", path, "the field is required");
}

}  // namespace

const Json* present(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value != nullptr && !value->is_null() ? value : nullptr;
}

std::string join_path(std::string_view path, std::string_view key) {
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}
std::string index_path(std::string_view path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

tl::unexpected<Error> unknown_variant(std::string_view path, std::string_view found, std::string_view accepted) {
  return request_error("body_unknown_variant", path, fmt::format("found \"{}\"; accepted are {}", found, accepted));
}

Status require_object(const Json& value, std::string_view path) {
  if (!value.is_object()) return wrong_type(path, value, "an object");
  return {};
}

Result<std::string> required_string(const Json& object, std::string_view key, std::string_view path) {
  const Json* value = object.find(key);
  if (value == nullptr) return missing(join_path(path, key));
  if (!value->is_string()) return wrong_type(join_path(path, key), *value, "a string");
  return value->string();
}

Result<std::optional<std::string>> optional_string(const Json& object, std::string_view key, std::string_view path) {
  const Json* value = present(object, key);
  if (value == nullptr) return std::nullopt;
  if (!value->is_string()) return wrong_type(join_path(path, key), *value, "a string");
  return value->string();
}

Result<bool> optional_bool(const Json& object, std::string_view key, std::string_view path) {
  const Json* value = present(object, key);
  if (value == nullptr) return false;
  if (!value->is_bool()) return wrong_type(join_path(path, key), *value, "true or false");
  return value->boolean();
}

Result<const Json*> required_object(const Json& object, std::string_view key, std::string_view path) {
  const Json* value = object.find(key);
  if (value == nullptr) return missing(join_path(path, key));
  DI_TRY(require_object(*value, join_path(path, key)));
  return value;
}

Result<const Json*> optional_array(const Json& object, std::string_view key, std::string_view path) {
  const Json* value = present(object, key);
  if (value != nullptr && !value->is_array()) return wrong_type(join_path(path, key), *value, "a list");
  return value;
}

Result<std::optional<double>> optional_number(const Json& body, std::string_view key, NumberRange range) {
  const Json* value = present(body, key);
  if (value == nullptr) return std::nullopt;
  const std::optional<double> number = value->as_double();
  if (!number) return wrong_type(key, *value, "a number");
  if (!(*number >= range.lowest && *number <= range.highest) || (range.open_low && *number == range.lowest)) {
    return request_error(key, key,
                         fmt::format("found {}; accepted are {}{}, {}]", value->number_text(),
                                     range.open_low ? "(" : "[", range.lowest, range.highest));
  }
  return number;
}

Result<std::optional<std::int64_t>> optional_integer(const Json& body, std::string_view key, NumberRange range) {
  const Json* value = present(body, key);
  if (value == nullptr) return std::nullopt;
  const double as_double = value->as_double().value_or(0.5);
  if (as_double != std::floor(as_double)) return wrong_type(key, *value, "an integer");
  DI_TRY(optional_number(body, key, range));
  if (const auto exact = value->as_int()) return exact;
  if (as_double >= 9.2e18) {
    return request_error(key, key, fmt::format("found {}; at most 2^63-1 is accepted", value->number_text()));
  }
  return static_cast<std::int64_t>(as_double);
}

Status check_model(const Json& body, const RequestSettings& settings) {
  if (settings.served_models.empty()) return optional_string(body, "model", "").map([](const auto&) {});
  DI_ASSIGN(const std::string model, required_string(body, "model", ""));
  const auto& served = settings.served_models;
  if (std::find(served.begin(), served.end(), model) != served.end()) return {};
  return request_error(settings.profile == Profile::kOfficial ? "model" : "model_not_found", "model",
                       fmt::format("model \"{}\" is not served; served: {}", model, fmt::join(served, ", ")));
}

namespace {

struct Thinking {
  bool given = false;
  bool enabled = true;
};

Result<Thinking> read_thinking_type(const Json& body) {
  const Json* thinking = present(body, "thinking");
  if (thinking == nullptr) return Thinking{};
  DI_TRY(require_object(*thinking, "thinking"));
  DI_ASSIGN(const std::string type, required_string(*thinking, "type", "thinking"));
  if (type == "enabled" || type == "adaptive") return Thinking{true, true};
  if (type == "disabled") return Thinking{true, false};
  return unknown_variant("thinking.type", type, "enabled, disabled, adaptive");
}

// 0 stands for "none".
Result<int> effort_of_word(const std::string& word) {
  struct Entry {
    std::string_view word;
    int effort;
  };
  static constexpr Entry kWords[] = {{"none", 0},  {"minimal", 50}, {"low", 50},  {"medium", 75},
                                     {"high", 75}, {"xhigh", 75},   {"max", 100}, {"ultra", 100}};
  for (const Entry& entry : kWords) {
    if (entry.word == word) return entry.effort;
  }
  return unknown_variant("reasoning_effort", word, "none, minimal, low, medium, high, xhigh, max, ultra");
}

}  // namespace

Status read_thinking(const Json& body, const Json* effort, const RequestSettings& settings,
                     Conversation& conversation) {
  DI_ASSIGN(const Thinking thinking, read_thinking_type(body));
  conversation.thinking = thinking.enabled;
  if (effort == nullptr) return {};
  if (effort->is_number() && settings.profile == Profile::kDefault) {
    const auto value = effort->as_int();
    if (!value || *value < 1 || *value > kMaxEffort) {
      return request_error(
          "reasoning_effort", "reasoning_effort",
          fmt::format("found {}; accepted are the words and the integers 1 to 100", effort->number_text()));
    }
    conversation.effort = static_cast<int>(*value);
    conversation.rules = Rules::kCheckpoint;
    return {};
  }
  if (!effort->is_string()) return wrong_type("reasoning_effort", *effort, "a string");
  DI_ASSIGN(const int value, effort_of_word(effort->string()));
  if (value == 0 && !thinking.given) conversation.thinking = false;
  conversation.effort = value == 0 ? kDefaultEffort : value;
  return {};
}

namespace {

Status read_logprobs(const Json& body, InferenceSettings& out) {
  DI_ASSIGN(out.logprobs, optional_bool(body, "logprobs", ""));
  DI_ASSIGN(out.top_logprobs, optional_integer(body, "top_logprobs", {0, 20}));
  if (out.top_logprobs && !out.logprobs) {
    return request_error("top_logprobs", "top_logprobs", "top_logprobs needs \"logprobs\": true");
  }
  return {};
}

}  // namespace

Status read_sampling(const Json& body, const RequestSettings& settings, bool thinking, InferenceSettings& out) {
  const bool official = settings.profile == Profile::kOfficial;
  DI_ASSIGN(const auto temperature, optional_number(body, "temperature", {0, 2}));
  DI_ASSIGN(const auto top_p, optional_number(body, "top_p", {0, 1, true}));
  DI_ASSIGN(const auto presence, optional_number(body, "presence_penalty", {-2, 2}));
  DI_ASSIGN(const auto frequency, optional_number(body, "frequency_penalty", {-2, 2}));
  DI_ASSIGN(const auto choices, optional_integer(body, "n", {1, official ? 1.0 : 16.0}));
  DI_ASSIGN(out.seed, optional_integer(body, "seed", {0, 9.3e18}));
  DI_TRY(read_logprobs(body, out));
  out.temperature = static_cast<float>(temperature.value_or(1.0));
  out.top_p = static_cast<float>(top_p.value_or(1.0));
  out.presence_penalty = static_cast<float>(presence.value_or(0.0));
  out.frequency_penalty = static_cast<float>(frequency.value_or(0.0));
  out.choices = choices.value_or(1);
  if (official && thinking) {
    out.temperature = 1.0F;
    out.top_p = std::max(out.top_p, 0.95F);
  } else if (official) {
    out.top_p = 1.0F;
  }
  return {};
}

Result<std::vector<std::string>> read_stops(const Json& body, std::string_view key, Profile profile) {
  std::vector<std::string> stops;
  const Json* value = present(body, key);
  if (value == nullptr) return stops;
  if (value->is_string()) {
    stops.push_back(value->string());
  } else if (value->is_array()) {
    for (const Json& item : value->items()) {
      if (!item.is_string()) return wrong_type(key, item, "a list of strings");
      stops.push_back(item.string());
    }
  } else {
    return wrong_type(key, *value, "a string or a list of strings");
  }
  const std::size_t limit = profile == Profile::kOfficial ? 16 : 64;
  if (stops.size() > limit) {
    return request_error("stop", key, fmt::format("{} stop sequences; at most {} are accepted", stops.size(), limit));
  }
  if (std::find(stops.begin(), stops.end(), "") != stops.end()) {
    return request_error("stop", key, "a stop sequence must not be empty");
  }
  return stops;
}

namespace {

// The official library accepts any non-empty ASCII; the markup has no escape, so the default profile is narrower.
bool is_tool_name(std::string_view name, Profile profile) {
  const auto ascii = [](char c) { return c > 0; };
  if (profile == Profile::kOfficial) return !name.empty() && std::all_of(name.begin(), name.end(), ascii);
  const auto accepted = [](char c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
  };
  return !name.empty() && name.size() <= 128 && std::all_of(name.begin(), name.end(), accepted);
}

}  // namespace

Result<Tool> read_tool(const ToolFields& fields, Profile profile) {
  const Json& object = *fields.object;
  Tool tool;
  DI_ASSIGN(tool.name, required_string(object, "name", fields.path));
  if (!is_tool_name(tool.name, profile)) {
    return request_error("function_name", join_path(fields.path, "name"),
                         fmt::format("\"{}\" is not a name; accepted are 1 to 128 of A-Z a-z 0-9 _ . -", tool.name));
  }
  DI_ASSIGN(tool.description, optional_string(object, "description", fields.path));
  if (const Json* strict = present(object, "strict")) {
    if (!strict->is_bool()) return wrong_type(join_path(fields.path, "strict"), *strict, "true or false");
    tool.strict = strict->boolean();
  }
  const Json* schema = present(object, fields.schema_key);
  tool.parameters = schema != nullptr ? *schema : Json::object();
  if (schema != nullptr) {
    const Json* type = schema->find("type");
    if (type == nullptr || !type->is_string() || type->string() != "object") {
      return request_error("function_schema", join_path(fields.path, fields.schema_key),
                           R"(parameters must be an object schema with "type": "object")");
    }
    if (tool.strict.value_or(false)) tool.parameters = strict_schema(*schema);
  }
  tool.line = Json(Json::Object{
      {"name", tool.name}, {"description", tool.description.value_or("")}, {"parameters", tool.parameters}});
  return tool;
}

Status check_unique_names(const std::vector<Tool>& tools) {
  std::vector<std::string_view> names;
  for (const Tool& tool : tools) names.push_back(tool.name);
  std::sort(names.begin(), names.end());
  const auto twice = std::adjacent_find(names.begin(), names.end());
  if (twice == names.end()) return {};
  return request_error("tool_names_not_unique", "tools", fmt::format("tool \"{}\" is defined twice", *twice));
}

Status apply_tool_choice(const RequestedChoice& requested, const RequestSettings& settings,
                         Conversation& conversation) {
  conversation.tool_choice = requested.choice;
  const auto& tools = conversation.tools;
  if (requested.choice != ToolChoice::kForced || tools.empty()) return {};
  const auto is_named = [&](const Tool& tool) { return tool.name == *requested.name; };
  if (requested.name && std::none_of(tools.begin(), tools.end(), is_named)) {
    return request_error("tool_choice_unknown_function", "tool_choice",
                         fmt::format("no tool is named \"{}\"", *requested.name));
  }
  conversation.forced_tool = requested.name.value_or("");
  if (!conversation.thinking) return {};
  if (settings.profile == Profile::kOfficial) {
    return request_error("tool_choice_in_thinking_mode", "tool_choice",
                         "a forced call is accepted with thinking disabled only");
  }
  conversation.tool_choice = ToolChoice::kForcedByGrammar;
  return {};
}

Result<ResponseFormat> read_response_format(const Json& format, const std::string& path,
                                            std::string_view schema_holder) {
  DI_TRY(require_object(format, path));
  DI_ASSIGN(const std::string type, required_string(format, "type", path));
  ResponseFormat out;
  if (type == "text") return out;
  if (type == "json_object") {
    out.kind = ResponseFormat::Kind::kJsonObject;
  } else if (type == "regex") {
    out.kind = ResponseFormat::Kind::kRegex;
    DI_ASSIGN(out.regex, required_string(format, "regex", path));
  } else if (type == "json_schema") {
    out.kind = ResponseFormat::Kind::kSchema;
    const Json* holder = &format;
    if (!schema_holder.empty()) {
      DI_ASSIGN(holder, required_object(format, schema_holder, path));
    }
    DI_TRY(required_string(*holder, "name", path));
    DI_ASSIGN(const bool strict, optional_bool(*holder, "strict", path));
    const Json* schema = holder->find("schema");
    if (schema == nullptr) return missing(join_path(path, "schema"));
    DI_TRY(check_schema(*schema, strict ? SchemaMode::kStrict : SchemaMode::kAny));
    out.schema = *schema;
  } else {
    return unknown_variant(path, type, "text, json_object, json_schema, regex");
  }
  return out;
}

Status check_json_word(const Conversation& conversation, Profile profile) {
  if (profile != Profile::kOfficial || conversation.response_format.kind != ResponseFormat::Kind::kJsonObject)
    return {};
  for (const Message& message : conversation.messages) {
    for (const Block& block : message.content) {
      std::string lower = block.text;
      std::transform(lower.begin(), lower.end(), lower.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      if (lower.find("json") != std::string::npos) return {};
    }
  }
  return request_error("json_object_needs_word_json", "response_format",
                       "json_object needs the word json in some message");
}

Status check_call_pairs(const std::vector<Message>& messages, std::string_view missing_kind,
                        std::string_view unexpected_kind) {
  std::unordered_multiset<std::string_view> open;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const Message& message = messages[i];
    if (message.role == Role::kTool) {
      const auto it = open.find(message.tool_call_id);
      if (it == open.end()) {
        return request_error(unexpected_kind, index_path("messages", i),
                             fmt::format("no open call has the id \"{}\"", message.tool_call_id));
      }
      open.erase(it);
      continue;
    }
    if (!open.empty()) break;
    for (const ToolCall& call : message.tool_calls) open.insert(call.id);
  }
  if (open.empty()) return {};
  constexpr std::size_t kNamed = 16;  // enough to help, short enough for a message
  std::vector<std::string_view> ids(open.begin(), open.end());
  std::sort(ids.begin(), ids.end());
  if (ids.size() > kNamed) ids.resize(kNamed);
  return request_error(missing_kind, "messages",
                       fmt::format("{} calls have no result: {}", open.size(), fmt::join(ids, ", ")));
}

namespace {

OutputConstraint tool_constraint(const Conversation& conversation) {
  Json::Array list;
  for (const Tool& tool : conversation.tools) {
    Json function(Json::Object{{"name", tool.name},
                               {"description", tool.description ? Json(*tool.description) : Json()},
                               {"parameters", tool.parameters},
                               {"strict", tool.strict ? Json(*tool.strict) : Json()}});
    list.push_back(Json(Json::Object{{"type", "function"}, {"function", std::move(function)}}));
  }
  const bool forced =
      conversation.tool_choice == ToolChoice::kForced || conversation.tool_choice == ToolChoice::kForcedByGrammar;
  return {forced ? "tool_call_required" : "tool_call", compact_json(Json(std::move(list))), conversation.forced_tool};
}

std::optional<OutputConstraint> format_constraint(const ResponseFormat& format) {
  switch (format.kind) {
    case ResponseFormat::Kind::kNone: return std::nullopt;
    case ResponseFormat::Kind::kJsonObject: return OutputConstraint{"json", "", ""};
    case ResponseFormat::Kind::kSchema: return OutputConstraint{"json", compact_json(format.schema), ""};
    case ResponseFormat::Kind::kRegex: return OutputConstraint{"regex", format.regex, ""};
  }
  return std::nullopt;
}

}  // namespace

void finish_conversion(ConvertedRequest& request, const RequestSettings& settings) {
  if (settings.rules) request.conversation.rules = *settings.rules;
  const Conversation& conversation = request.conversation;
  const bool tools = !conversation.tools.empty() && conversation.tool_choice != ToolChoice::kNone;
  request.parsing.parse_tool_calls = tools;
  request.parsing.parse_json_output = conversation.response_format.kind == ResponseFormat::Kind::kJsonObject;
  request.inference.constraint =
      tools ? std::optional(tool_constraint(conversation)) : format_constraint(conversation.response_format);
}

}  // namespace deepinfer::prompt
