// Responses bodies (prompt-recipe.md 2.2).
#include <fmt/format.h>

#include "base/error.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"
#include "prompt/requests.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

constexpr double kMaxOutputTokens = 393216;

class ResponsesConverter {
 public:
  ResponsesConverter(const Json& body, const RequestSettings& settings) : body_(body), settings_(settings) {}

  Result<ConvertedRequest> run() {
    DI_TRY(check_model(body_, settings_));
    conversation().rules = settings_.rules.value_or(Rules::kRecipe);
    if (settings_.profile == Profile::kDefault && present(body_, "previous_response_id") != nullptr) {
      return request_error("unsupported_value", "previous_response_id", "responses are not stored");
    }
    const Json* reasoning = present(body_, "reasoning");
    if (reasoning != nullptr) DI_TRY(require_object(*reasoning, "reasoning"));
    DI_TRY(read_thinking(body_, reasoning != nullptr ? present(*reasoning, "effort") : nullptr, settings_,
                         conversation()));
    DI_TRY(read_input());
    DI_TRY(read_tools());
    DI_TRY(read_tool_choice());
    DI_TRY(read_format());
    DI_TRY(read_sampling(body_, settings_, conversation().thinking, out_.inference));
    DI_ASSIGN(out_.inference.max_tokens, optional_integer(body_, "max_output_tokens", {1, kMaxOutputTokens}));
    DI_ASSIGN(out_.stream, optional_bool(body_, "stream", ""));
    finish_conversion(out_, settings_);
    return std::move(out_);
  }

 private:
  Conversation& conversation() { return out_.conversation; }
  std::vector<Message>& messages() { return conversation().messages; }

  Status read_input() {
    DI_ASSIGN(const auto instructions, optional_string(body_, "instructions", ""));
    if (instructions) messages().push_back({.role = Role::kSystem, .content = {{.text = *instructions}}});
    const Json* input = body_.find("input");
    if (input == nullptr) return request_error("body_missing_field", "input", "the field is required");
    if (input->is_string()) {
      messages().push_back({.role = Role::kUser, .content = {{.text = input->string()}}});
      return {};
    }
    if (!input->is_array()) return request_error("body_invalid_type", "input", "wanted a string or a list of items");
    if (input->items().empty()) return request_error("invalid_request", "input", "the list of items is empty");
    for (std::size_t i = 0; i < input->items().size(); ++i) {
      DI_TRY(read_item(input->items()[i], index_path("input", i)));
    }
    return check_call_pairs(messages(), "tool", "tool");
  }

  Status read_item(const Json& item, const std::string& path) {
    DI_TRY(require_object(item, path));
    DI_ASSIGN(const auto type, optional_string(item, "type", path));
    if (!type || *type == "message") return read_message_item(item, path);
    if (*type == "reasoning") return read_reasoning(item, path);
    if (*type == "function_call") return read_call(item, path);
    if (*type == "function_call_output") return read_output(item, path);
    return unknown_variant(join_path(path, "type"), *type, "message, reasoning, function_call, function_call_output");
  }

  Status read_message_item(const Json& item, const std::string& path) {
    DI_ASSIGN(const std::string role, required_string(item, "role", path));
    Message message;
    if (role == "assistant") {
      message.role = Role::kAssistant;
      message.reasoning = std::exchange(reasoning_, "");
    } else if (role == "system" || role == "developer") {
      message.role = Role::kSystem;
    } else if (role != "user") {
      return unknown_variant(join_path(path, "role"), role, "system, developer, user, assistant");
    }
    const Json* content = item.find("content");
    if (content == nullptr) return request_error("body_missing_field", path, "content is required");
    DI_ASSIGN(message.content, read_content(*content, join_path(path, "content")));
    messages().push_back(std::move(message));
    return {};
  }

  // The text of `content`, or of `summary` where the content is absent, belongs to the next assistant turn.
  Status read_reasoning(const Json& item, const std::string& path) {
    DI_ASSIGN(const Json* parts, optional_array(item, "content", path));
    if (parts == nullptr) {
      DI_ASSIGN(parts, optional_array(item, "summary", path));
    }
    if (parts == nullptr) return {};
    for (const Json& part : parts->items()) {
      DI_TRY(require_object(part, path));
      DI_ASSIGN(const std::string text, required_string(part, "text", path));
      if (!reasoning_.empty()) reasoning_ += "\n\n";
      reasoning_ += text;
    }
    return {};
  }

  // Calls that follow each other, or the text of the same turn, are one assistant turn; new reasoning starts another.
  Status read_call(const Json& item, const std::string& path) {
    ToolCall call;
    DI_ASSIGN(call.id, required_string(item, "call_id", path));
    DI_ASSIGN(call.name, required_string(item, "name", path));
    DI_ASSIGN(call.arguments, required_string(item, "arguments", path));
    const bool joins = !messages().empty() && messages().back().role == Role::kAssistant && reasoning_.empty();
    if (!joins) messages().push_back({.role = Role::kAssistant, .reasoning = std::exchange(reasoning_, "")});
    messages().back().tool_calls.push_back(std::move(call));
    return {};
  }

  Status read_output(const Json& item, const std::string& path) {
    Message message{.role = Role::kTool};
    DI_ASSIGN(message.tool_call_id, required_string(item, "call_id", path));
    const Json* output = item.find("output");
    if (output == nullptr) return request_error("body_missing_field", path, "output is required");
    DI_ASSIGN(message.content, read_content(*output, join_path(path, "output")));
    messages().push_back(std::move(message));
    return {};
  }

  Status read_tools() {
    DI_ASSIGN(const Json* list, optional_array(body_, "tools", ""));
    if (list == nullptr) return {};
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const std::string path = index_path("tools", i);
      const Json& item = list->items()[i];
      DI_TRY(require_object(item, path));
      DI_ASSIGN(const std::string type, required_string(item, "type", path));
      if (type != "function") return unknown_variant(join_path(path, "type"), type, "function");
      DI_ASSIGN(Tool tool, read_tool({&item, "parameters", path}, settings_.profile));
      conversation().tools.push_back(std::move(tool));
    }
    return check_unique_names(conversation().tools);
  }

  Status read_tool_choice() {
    const Json* choice = present(body_, "tool_choice");
    if (choice == nullptr) return {};
    RequestedChoice requested;
    if (choice->is_object()) {
      DI_ASSIGN(requested.name, required_string(*choice, "name", "tool_choice"));
      requested.choice = ToolChoice::kForced;
    } else if (choice->is_string() && choice->string() == "required") {
      requested.choice = ToolChoice::kForced;
    } else if (choice->is_string() && choice->string() == "none") {
      requested.choice = ToolChoice::kNone;
    } else if (!choice->is_string() || choice->string() != "auto") {
      return unknown_variant("tool_choice", base::dump_json(*choice), "auto, none, required, a function object");
    }
    return apply_tool_choice(requested, settings_, conversation());
  }

  Status read_format() {
    const Json* text = present(body_, "text");
    if (text == nullptr) return {};
    DI_TRY(require_object(*text, "text"));
    const Json* format = present(*text, "format");
    if (format == nullptr) return {};
    DI_ASSIGN(conversation().response_format, read_response_format(*format, "text.format", ""));
    return check_json_word(conversation(), settings_.profile);
  }

  const Json& body_;
  const RequestSettings& settings_;
  ConvertedRequest out_;
  std::string reasoning_;  // of a reasoning item, waiting for its assistant turn
};

}  // namespace

Result<ConvertedRequest> convert_responses_request(const Json& body, const RequestSettings& settings) {
  return ResponsesConverter(body, settings).run();
}

}  // namespace deepinfer::prompt
