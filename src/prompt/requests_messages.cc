// Messages bodies (prompt-recipe.md 2.2).
#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"
#include "prompt/requests.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

constexpr std::int64_t kMaxOutputTokens = 393216;

class MessagesConverter {
 public:
  MessagesConverter(const Json& body, const RequestSettings& settings) : body_(body), settings_(settings) {}

  Result<ConvertedRequest> run() {
    DI_TRY(check_model(body_, settings_));
    conversation().rules = settings_.rules.value_or(Rules::kRecipe);
    const Json* config = present(body_, "output_config");
    if (config != nullptr) DI_TRY(require_object(*config, "output_config"));
    DI_TRY(read_thinking(body_, config != nullptr ? present(*config, "effort") : nullptr, settings_, conversation()));
    if (const Json* system = present(body_, "system")) {
      Message message{.role = Role::kSystem};
      DI_ASSIGN(message.content, read_content(*system, "system"));
      messages().push_back(std::move(message));
    }
    DI_TRY(read_messages());
    DI_TRY(read_tools());
    DI_TRY(read_tool_choice());
    DI_TRY(read_settings());
    finish_conversion(out_, settings_);
    return std::move(out_);
  }

 private:
  Conversation& conversation() { return out_.conversation; }
  std::vector<Message>& messages() { return conversation().messages; }

  Status read_settings() {
    DI_TRY(read_sampling(body_, settings_, conversation().thinking, out_.inference));
    DI_ASSIGN(const auto max_tokens, optional_integer(body_, "max_tokens", {1, 9.2e18}));
    if (max_tokens) out_.inference.max_tokens = std::min(*max_tokens, kMaxOutputTokens);
    DI_ASSIGN(out_.parsing.stop_sequences, read_stops(body_, "stop_sequences", settings_.profile));
    DI_ASSIGN(out_.stream, optional_bool(body_, "stream", ""));
    return {};
  }

  Status read_messages() {
    const Json* list = body_.find("messages");
    if (list == nullptr) return request_error("body_missing_field", "messages", "the field is required");
    if (!list->is_array()) return request_error("body_invalid_type", "messages", "wanted a list");
    if (list->items().empty()) return request_error("no_messages", "messages", "the list of messages is empty");
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      DI_TRY(read_message(list->items()[i], index_path("messages", i)));
    }
    return check_call_pairs(messages(), "tool_use", "tool_use");
  }

  Status read_message(const Json& source, const std::string& path) {
    DI_TRY(require_object(source, path));
    DI_ASSIGN(const std::string role, required_string(source, "role", path));
    Message message;
    if (role == "assistant") {
      message.role = Role::kAssistant;
    } else if (role == "system") {
      message.role = Role::kSystem;
    } else if (role != "user") {
      return unknown_variant(join_path(path, "role"), role, "system, user, assistant");
    }
    const Json* content = source.find("content");
    if (content == nullptr) return request_error("body_missing_field", path, "content is required");
    const std::string content_path = join_path(path, "content");
    if (!content->is_array()) {
      DI_ASSIGN(message.content, read_content(*content, content_path));
      messages().push_back(std::move(message));
      return {};
    }
    return read_blocks(*content, content_path, std::move(message));
  }

  // Results become messages of their own; what stands between them stays in order. A message that held only results
  // leaves no empty user message behind.
  Status read_blocks(const Json& content, const std::string& path, Message message) {
    bool had_results = false;
    for (std::size_t i = 0; i < content.items().size(); ++i) {
      const Json& block = content.items()[i];
      const std::string block_path = index_path(path, i);
      DI_TRY(require_object(block, block_path));
      const Result<std::string> type = required_string(block, "type", block_path);
      if (!type) return tl::unexpected(type.error());
      if (*type != "tool_result") {
        DI_TRY(read_block(block, *type, block_path, message));
        continue;
      }
      if (!message.content.empty()) messages().push_back(std::exchange(message, Message{.role = message.role}));
      DI_TRY(read_result(block, block_path));
      had_results = true;
    }
    if (!had_results || !message.content.empty()) messages().push_back(std::move(message));
    return {};
  }

  static Status read_block(const Json& block, const std::string& type, const std::string& path, Message& message) {
    if (type == "thinking") {
      DI_ASSIGN(const std::string text, required_string(block, "thinking", path));
      if (!message.reasoning.empty()) message.reasoning += "\n\n";
      message.reasoning += text;
      return {};
    }
    if (type == "redacted_thinking") return {};
    if (type == "tool_use") return read_call(block, path, message);
    DI_ASSIGN(Block part, read_part(block, path));
    message.content.push_back(std::move(part));
    return {};
  }

  static Status read_call(const Json& block, const std::string& path, Message& message) {
    ToolCall call;
    DI_ASSIGN(call.id, required_string(block, "id", path));
    DI_ASSIGN(call.name, required_string(block, "name", path));
    DI_ASSIGN(const Json* input, required_object(block, "input", path));
    call.arguments = base::dump_json(*input);
    message.tool_calls.push_back(std::move(call));
    return {};
  }

  Status read_result(const Json& block, const std::string& path) {
    Message result{.role = Role::kTool};
    DI_ASSIGN(result.tool_call_id, required_string(block, "tool_use_id", path));
    if (const Json* content = present(block, "content")) {
      DI_ASSIGN(result.content, read_content(*content, join_path(path, "content")));
    }
    messages().push_back(std::move(result));
    return {};
  }

  Status read_tools() {
    DI_ASSIGN(const Json* list, optional_array(body_, "tools", ""));
    if (list == nullptr) return {};
    for (std::size_t i = 0; i < list->items().size(); ++i) {
      const std::string path = index_path("tools", i);
      DI_TRY(require_object(list->items()[i], path));
      DI_ASSIGN(Tool tool, read_tool({&list->items()[i], "input_schema", path}, settings_.profile));
      conversation().tools.push_back(std::move(tool));
    }
    return check_unique_names(conversation().tools);
  }

  // `any` leaves the prompt as with `auto`; the default profile forces the call through the grammar.
  Status read_tool_choice() {
    const Json* choice = present(body_, "tool_choice");
    if (choice == nullptr) return {};
    DI_TRY(require_object(*choice, "tool_choice"));
    const Result<std::string> type = required_string(*choice, "type", "tool_choice");
    if (!type) return tl::unexpected(type.error());
    RequestedChoice requested;
    if (*type == "tool") {
      requested.choice = ToolChoice::kForced;
      DI_ASSIGN(requested.name, required_string(*choice, "name", "tool_choice"));
    } else if (*type == "none") {
      requested.choice = ToolChoice::kNone;
    } else if (*type == "any") {
      if (settings_.profile == Profile::kDefault) requested.choice = ToolChoice::kForcedByGrammar;
    } else if (*type != "auto") {
      return unknown_variant("tool_choice.type", *type, "auto, any, tool, none");
    }
    return apply_tool_choice(requested, settings_, conversation());
  }

  const Json& body_;
  const RequestSettings& settings_;
  ConvertedRequest out_;
};

}  // namespace

Result<ConvertedRequest> convert_messages_request(const Json& body, const RequestSettings& settings) {
  return MessagesConverter(body, settings).run();
}

}  // namespace deepinfer::prompt
