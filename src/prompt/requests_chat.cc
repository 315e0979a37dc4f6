// Chat Completions bodies (prompt-recipe.md 2).
#include <fmt/format.h>

#include <unordered_set>

#include "base/error.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"
#include "prompt/requests.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

constexpr double kMaxOutputTokens = 393216;

class ChatConverter {
 public:
  ChatConverter(const Json& body, const RequestSettings& settings) : body_(body), settings_(settings) {}

  Result<ConvertedRequest> run() {
    DI_TRY(check_model(body_, settings_));
    conversation().rules = settings_.rules.value_or(Rules::kRecipe);
    DI_TRY(read_thinking(body_, present(body_, "reasoning_effort"), settings_, conversation()));
    DI_TRY(read_messages());
    DI_TRY(read_tools());
    DI_TRY(read_tool_choice());
    if (const Json* format = present(body_, "response_format")) {
      DI_ASSIGN(conversation().response_format, read_response_format(*format, "response_format", "json_schema"));
    }
    DI_TRY(check_json_word(conversation(), settings_.profile));
    DI_TRY(read_settings());
    finish_conversion(out_, settings_);
    return std::move(out_);
  }

 private:
  Conversation& conversation() { return out_.conversation; }
  bool official() const { return settings_.profile == Profile::kOfficial; }

  Status read_settings() {
    DI_TRY(read_sampling(body_, settings_, conversation().thinking, out_.inference));
    DI_ASSIGN(out_.inference.max_tokens, optional_integer(body_, "max_tokens", {1, kMaxOutputTokens}));
    if (!official()) {
      DI_ASSIGN(const auto newer, optional_integer(body_, "max_completion_tokens", {1, kMaxOutputTokens}));
      if (newer) out_.inference.max_tokens = newer;
    }
    DI_ASSIGN(out_.parsing.stop_sequences, read_stops(body_, "stop", settings_.profile));
    DI_ASSIGN(out_.stream, optional_bool(body_, "stream", ""));
    return {};
  }

  Status read_messages() {
    const Json* list = body_.find("messages");
    if (list == nullptr) return request_error("body_missing_field", "messages", "the field is required");
    if (!list->is_array()) return request_error("body_invalid_type", "messages", "wanted a list");
    if (list->items().empty()) return request_error("no_messages", "messages", "the list of messages is empty");
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      path_ = index_path("messages", i);
      last_ = i + 1 == list->items().size();
      DI_ASSIGN(Message message, read_message(list->items()[i]));
      conversation().messages.push_back(std::move(message));
    }
    return check_call_pairs(conversation().messages, "missing_tool_results", "tool_without_call");
  }

  Result<Role> read_role(const Json& message) const {
    struct Entry {
      std::string_view word;
      Role role;
    };
    static constexpr Entry kRoles[] = {{"system", Role::kSystem},
                                       {"user", Role::kUser},
                                       {"assistant", Role::kAssistant},
                                       {"tool", Role::kTool},
                                       {"latest_reminder", Role::kLatestReminder},
                                       {"developer", Role::kDeveloper}};
    DI_ASSIGN(const std::string word, required_string(message, "role", path_));
    for (const Entry& entry : kRoles) {
      if (entry.word == word && !(entry.role == Role::kDeveloper && official())) return entry.role;
    }
    return unknown_variant(join_path(path_, "role"), word, "system, user, assistant, tool, latest_reminder");
  }

  Result<Message> read_message(const Json& source) {
    DI_TRY(require_object(source, path_));
    Message message;
    DI_ASSIGN(message.role, read_role(source));
    if (message.role == Role::kDeveloper) conversation().rules = Rules::kCheckpoint;
    if (!official()) {
      DI_ASSIGN(message.task, optional_string(source, "task", path_));
      if (message.task) conversation().rules = Rules::kCheckpoint;
    }
    if (message.role == Role::kAssistant) {
      DI_TRY(read_assistant(source, message));
      return message;
    }
    const Json* content = source.find("content");
    if (content == nullptr) {
      return request_error("body_missing_field", join_path(path_, "content"), "the field is required");
    }
    DI_ASSIGN(message.content, read_content(*content, join_path(path_, "content")));
    if (message.role == Role::kTool) {
      DI_ASSIGN(message.tool_call_id, required_string(source, "tool_call_id", path_));
    }
    return message;
  }

  Status read_assistant(const Json& source, Message& message) {
    DI_ASSIGN(const auto reasoning, optional_string(source, "reasoning_content", path_));
    message.reasoning = reasoning.value_or("");
    DI_TRY(read_calls(source, message));
    if (const Json* content = present(source, "content")) {
      DI_ASSIGN(message.content, read_content(*content, join_path(path_, "content")));
    } else if (message.tool_calls.empty() && (official() || message.reasoning.empty())) {
      return request_error("assistant_without_content", path_, "an assistant message needs content or tool calls");
    }
    DI_ASSIGN(message.open, optional_bool(source, "prefix", path_));
    if (message.open && !last_) {
      return request_error("prefix_position", join_path(path_, "prefix"), "only the last message can be continued");
    }
    return {};
  }

  Status read_calls(const Json& source, Message& message) {
    DI_ASSIGN(const Json* list, optional_array(source, "tool_calls", path_));
    if (list == nullptr) return {};
    std::unordered_set<std::string> ids;
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const std::string path = index_path(join_path(path_, "tool_calls"), i);
      const Json& item = list->items()[i];
      DI_TRY(require_object(item, path));
      ToolCall call;
      DI_ASSIGN(call.id, required_string(item, "id", path));
      DI_ASSIGN(const Json* function, required_object(item, "function", path));
      DI_ASSIGN(call.name, required_string(*function, "name", join_path(path, "function")));
      DI_ASSIGN(call.arguments, required_string(*function, "arguments", join_path(path, "function")));
      if (!ids.insert(call.id).second) {
        return request_error("tool_call_id", path, fmt::format("the id \"{}\" is used twice", call.id));
      }
      message.tool_calls.push_back(std::move(call));
    }
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
      DI_ASSIGN(const Json* function, required_object(item, "function", path));
      DI_ASSIGN(Tool tool, read_tool({function, "parameters", join_path(path, "function")}, settings_.profile));
      if (conversation().rules == Rules::kCheckpoint) tool.line = *function;
      conversation().tools.push_back(std::move(tool));
    }
    return check_unique_names(conversation().tools);
  }

  Status read_tool_choice() {
    const Json* choice = present(body_, "tool_choice");
    if (choice == nullptr) return {};
    RequestedChoice requested;
    if (choice->is_object()) {
      DI_ASSIGN(const Json* function, required_object(*choice, "function", "tool_choice"));
      DI_ASSIGN(requested.name, required_string(*function, "name", "tool_choice.function"));
      requested.choice = ToolChoice::kForced;
    } else if (choice->is_string() && choice->string() == "required") {
      requested.choice = ToolChoice::kForced;
    } else if (choice->is_string() && choice->string() == "none") {
      requested.choice = ToolChoice::kNone;
    } else if (!choice->is_string() || choice->string() != "auto") {
      return request_error(
          "body_tool", "tool_choice",
          fmt::format("found {}; accepted are auto, none, required and a function object", base::dump_json(*choice)));
    }
    return apply_tool_choice(requested, settings_, conversation());
  }

  const Json& body_;
  const RequestSettings& settings_;
  ConvertedRequest out_;
  std::string path_;   // of the message being read
  bool last_ = false;  // it is the last one
};

}  // namespace

Result<ConvertedRequest> convert_chat_request(const Json& body, const RequestSettings& settings) {
  return ChatConverter(body, settings).run();
}

}  // namespace deepinfer::prompt
