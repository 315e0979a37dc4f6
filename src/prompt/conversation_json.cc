#include "prompt/conversation_json.h"

#include <fmt/format.h>

#include "base/error.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

class ConversationReader {
 public:
  ConversationReader(const Json& json, Rules rules) : json_(json) { out_.rules = rules; }

  Result<Conversation> run() {
    DI_TRY(require_object(json_, "conversation"));
    DI_TRY(read_mode());
    DI_TRY(read_effort());
    DI_ASSIGN(const Json* messages, optional_array(json_, "messages", ""));
    if (messages == nullptr) return request_error("body_missing_field", "messages", "the field is required");
    for (std::size_t i = 0; i < messages->items().size(); ++i) {
      DI_ASSIGN(Message message, read_message(messages->items()[i], index_path("messages", i)));
      out_.messages.push_back(std::move(message));
    }
    DI_ASSIGN(out_.tools, read_tools(json_, ""));
    DI_TRY(read_choice());
    DI_TRY(read_format());
    return std::move(out_);
  }

 private:
  bool recipe() const { return out_.rules == Rules::kRecipe; }

  Status read_mode() {
    const Json* mode = present(json_, "thinking_mode");
    if (mode != nullptr && mode->is_bool()) {
      out_.thinking = mode->boolean();
    } else if (mode != nullptr && mode->is_string() && (mode->string() == "thinking" || mode->string() == "chat")) {
      out_.thinking = mode->string() == "thinking";
    } else if (mode != nullptr) {
      return request_error("invalid_thinking_mode", "thinking_mode",
                           fmt::format("found {}; accepted are true, false, thinking, chat", base::dump_json(*mode)));
    }
    if (const Json* drop = present(json_, "drop_thinking")) {
      if (!drop->is_bool()) return request_error("body_invalid_type", "drop_thinking", "wanted true or false");
      out_.drop_thinking = drop->boolean();
    }
    return {};
  }

  // Words low, high, xhigh, max; integers under the checkpoint rules only. Checked with thinking off as well.
  Status read_effort() {
    const Json* effort = present(json_, "reasoning_effort");
    if (effort == nullptr) return {};
    if (effort->is_string()) {
      const std::string& word = effort->string();
      if (word == "high" || word == "xhigh") return {};
      if (word == "low" || word == "max") {
        out_.effort = word == "low" ? 50 : kMaxEffort;
        return {};
      }
    } else if (!recipe() && effort->is_integer()) {
      const auto value = effort->as_int().value_or(0);
      if (value >= 1 && value <= kMaxEffort) {
        out_.effort = static_cast<int>(value);
        return {};
      }
    }
    return request_error("invalid_reasoning_effort", "reasoning_effort",
                         fmt::format("found {}; accepted are low, high, xhigh, max and, by the checkpoint rules, "
                                     "1 to 100",
                                     base::dump_json(*effort)));
  }

  Result<Role> read_role(const Json& message, const std::string& path) const {
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
    DI_ASSIGN(const std::string word, required_string(message, "role", path));
    for (const Entry& entry : kRoles) {
      if (entry.word == word && !(entry.role == Role::kDeveloper && recipe())) return entry.role;
    }
    return request_error("unknown_role", join_path(path, "role"),
                         fmt::format("role \"{}\"; accepted are system, user, assistant, tool, latest_reminder and, by "
                                     "the checkpoint rules, developer",
                                     word));
  }

  Result<Message> read_message(const Json& source, const std::string& path) {
    DI_TRY(require_object(source, path));
    Message message;
    DI_ASSIGN(message.role, read_role(source, path));
    DI_TRY(read_parts(source, path, message));
    DI_ASSIGN(const auto reasoning, optional_string(source, "reasoning_content", path));
    message.reasoning = reasoning.value_or("");
    DI_ASSIGN(const auto call_id, optional_string(source, "tool_call_id", path));
    message.tool_call_id = call_id.value_or("");
    DI_TRY(read_calls(source, path, message));
    DI_ASSIGN(message.tools, read_tools(source, path));
    DI_ASSIGN(message.open, optional_bool(source, recipe() ? "prefix" : "wo_eos", path));
    if (recipe()) return message;
    DI_ASSIGN(message.task, optional_string(source, "task", path));
    if (const Json* format = present(source, "response_format")) {
      message.response_format = {ResponseFormat::Kind::kSchema, *format, ""};
    }
    return message;
  }

  Status read_parts(const Json& source, const std::string& path, Message& message) const {
    DI_ASSIGN(const auto images, optional_integer(source, "images", {0, 1e6}));
    message.attached_images = images.value_or(0);
    const Json* content = present(source, "content");
    if (content == nullptr) return {};
    if (recipe() || !content->is_array()) {
      DI_ASSIGN(message.content, read_content(*content, join_path(path, "content")));
      return {};
    }
    for (std::size_t i = 0; i < content->items().size(); ++i) {
      DI_ASSIGN(Block block, read_release_part(content->items()[i], index_path(join_path(path, "content"), i)));
      message.content.push_back(std::move(block));
    }
    return {};
  }

  // An image without a source is refused by the encoder, not here.
  static Result<Block> read_release_part(const Json& part, const std::string& path) {
    DI_TRY(require_object(part, path));
    DI_ASSIGN(const std::string type, required_string(part, "type", path));
    if (type != "image_url") return read_part(part, path);
    DI_ASSIGN(const Json* image, required_object(part, "image_url", path));
    DI_ASSIGN(const auto url, optional_string(*image, "url", path));
    return Block{.kind = Block::Kind::kImage, .source = url.value_or("")};
  }

  static Status read_calls(const Json& source, const std::string& path, Message& message) {
    DI_ASSIGN(const Json* list, optional_array(source, "tool_calls", path));
    if (list == nullptr) return {};
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const std::string call_path = index_path(join_path(path, "tool_calls"), i);
      const Json& item = list->items()[i];
      DI_TRY(require_object(item, call_path));
      ToolCall call;
      DI_ASSIGN(const auto id, optional_string(item, "id", call_path));
      call.id = id.value_or("");
      const Json* function = present(item, "function");
      if (function == nullptr) function = &item;
      DI_ASSIGN(call.name, required_string(*function, "name", call_path));
      DI_ASSIGN(call.arguments, required_string(*function, "arguments", call_path));
      message.tool_calls.push_back(std::move(call));
    }
    return {};
  }

  // {name, description, parameters, defer_loading}, or the same under "function" as in requests.
  Result<std::vector<Tool>> read_tools(const Json& holder, const std::string& path) const {
    std::vector<Tool> tools;
    DI_ASSIGN(const Json* list, optional_array(holder, "tools", path));
    if (list == nullptr) return tools;
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const std::string tool_path = index_path(join_path(path, "tools"), i);
      const Json& item = list->items()[i];
      DI_TRY(require_object(item, tool_path));
      const Json* function = present(item, "function");
      if (function == nullptr) function = &item;
      DI_TRY(require_object(*function, tool_path));
      Tool tool;
      DI_ASSIGN(tool.name, required_string(*function, "name", tool_path));
      DI_ASSIGN(tool.description, optional_string(*function, "description", tool_path));
      DI_ASSIGN(tool.defer_loading, optional_bool(item, "defer_loading", tool_path));
      if (const Json* parameters = present(*function, "parameters")) tool.parameters = *parameters;
      tool.line = recipe() ? Json(Json::Object{{"name", tool.name},
                                               {"description", tool.description.value_or("")},
                                               {"parameters", tool.parameters}})
                           : *function;
      tools.push_back(std::move(tool));
    }
    return tools;
  }

  Status read_choice() {
    DI_ASSIGN(const auto choice, optional_string(json_, "tool_choice", ""));
    if (!choice || *choice == "auto") return {};
    if (*choice != "none" && *choice != "required") {
      return unknown_variant("tool_choice", *choice, "auto, none, required");
    }
    out_.tool_choice = *choice == "none" ? ToolChoice::kNone : ToolChoice::kForced;
    return {};
  }

  Status read_format() {
    const Json* schema = present(json_, "response_schema");
    DI_ASSIGN(const auto regex, optional_string(json_, "response_regex", ""));
    DI_ASSIGN(const auto format, optional_string(json_, "response_format", ""));
    if ((schema != nullptr) + regex.has_value() + format.has_value() > 1) {
      return request_error("invalid_conversation", "response_format", "two response formats at once");
    }
    if (format && *format != "json_object" && *format != "text") {
      return unknown_variant("response_format", *format, "json_object, text");
    }
    if (schema != nullptr) {
      out_.response_format = {ResponseFormat::Kind::kSchema, *schema, ""};
    } else if (regex) {
      out_.response_format = {ResponseFormat::Kind::kRegex, {}, *regex};
    } else if (format && *format == "json_object") {
      out_.response_format.kind = ResponseFormat::Kind::kJsonObject;
    }
    return {};
  }

  const Json& json_;
  Conversation out_;
};

}  // namespace

Result<Conversation> read_conversation(const Json& json, Rules rules) { return ConversationReader(json, rules).run(); }

}  // namespace deepinfer::prompt
