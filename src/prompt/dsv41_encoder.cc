#include "prompt/dsv41_encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "base/error.h"
#include "prompt/python_json.h"
#include "prompt/request_error.h"
#include "prompt/structure_tokens.h"
#include "prompt/turns.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

constexpr std::string_view kToolsBlock =
#include "tools_block.inc"
    ;
constexpr std::string_view kSchemasPlaceholder = "{tool_schemas}";
constexpr std::string_view kFormatHeader =
    "## Response Format:\n\nYou MUST strictly adhere to the following schema to reply:\n";
constexpr std::string_view kJsonObjectFormat = R"({"type": "json_object"})";
constexpr std::string_view kBlankLine = "\n\n";

BigIntegers big_integers_of(Rules rules) {
  return rules == Rules::kRecipe ? BigIntegers::kToFloat : BigIntegers::kKeep;
}

// Strict JSON object, or null. 127 levels are what the official reader accepts.
Result<Json> parse_arguments(const std::string& text) {
  const base::JsonLimits limits{.max_depth = 127, .duplicate_keys = base::JsonLimits::DuplicateKeys::kKeepLast};
  DI_ASSIGN(Json value, base::parse_json(text, limits));
  if (!value.is_object()) {
    return errorf(ErrorCode::kInvalidArgument, "arguments are a JSON {}, wanted an object", value.type_name());
  }
  return value;
}

void append_parameter(PromptSegments& out, const std::string& key, const Json& value, Rules rules) {
  const bool raw = value.is_string();
  out.text("<");
  out.token(kDsml);
  out.text(fmt::format(" parameter name=\"{}\" string=\"{}\">", key, raw));
  out.text(raw ? value.string() : python_json(value, big_integers_of(rules)));
  out.text("</");
  out.token(kDsml);
  out.text(" parameter>");
}

Status append_call(PromptSegments& out, const ToolCall& call, Rules rules) {
  auto arguments = parse_arguments(call.arguments);
  if (!arguments && rules == Rules::kCheckpoint) {
    return request_error("arguments", "tool_calls",
                         fmt::format("call \"{}\": {}", call.name, arguments.error().to_string()));
  }
  const Json parameters = arguments ? *arguments : Json(Json::Object{{"arguments", call.arguments}});
  out.text("<");
  out.token(kDsml);
  out.text(fmt::format(" invoke name=\"{}\">\n", call.name));
  std::string_view separator;
  for (const auto& [key, value] : parameters.members()) {
    out.text(separator);
    append_parameter(out, key, value, rules);
    separator = "\n";
  }
  out.text("\n</");
  out.token(kDsml);
  out.text(" invoke>");
  return {};
}

// Writes one conversation. The segments grow from left to right; nothing is looked at again.
class Rendering {
 public:
  Rendering(const Conversation& conversation, const ToolCallRegistry* registry)
      : conversation_(conversation), registry_(registry) {}

  Result<EncodedPrompt> run() {
    prepare();
    if (recipe()) {
      DI_TRY(render_recipe());
    } else {
      DI_TRY(render_checkpoint());
    }
    return std::move(out_);
  }

 private:
  bool recipe() const { return conversation_.rules == Rules::kRecipe; }
  bool thinking() const { return conversation_.thinking; }
  PromptSegments& segments() { return out_.segments; }

  // Step 5 and the removal of developers happen on a copy of the message list; turns point into it.
  void prepare() {
    messages_ = conversation_.messages;
    if (conversation_.tool_choice != ToolChoice::kNone) {
      std::copy_if(conversation_.tools.begin(), conversation_.tools.end(), std::back_inserter(tools_),
                   [](const Tool& tool) { return !tool.defer_loading; });
    }
    const auto has_tools = [](const Message& message) { return !message.tools.empty(); };
    dropping_ =
        conversation_.drop_thinking && tools_.empty() && std::none_of(messages_.begin(), messages_.end(), has_tools);
    if (!recipe() && thinking() && dropping_) remove_early_developers();
    const bool first_is_system = !messages_.empty() && messages_[0].role == Role::kSystem;
    const auto format = conversation_.response_format.kind;
    const bool prints_format = format == ResponseFormat::Kind::kJsonObject || format == ResponseFormat::Kind::kSchema;
    if (!first_is_system && (!tools_.empty() || prints_format)) {
      messages_.insert(messages_.begin(), Message{.role = Role::kSystem});
    }
    turns_ = make_turns(messages_, conversation_.rules);
  }

  // The last message that ends the history whose reasoning is dropped: user, developer or a later system message.
  static bool is_boundary(Role role, std::size_t index) {
    return role == Role::kUser || role == Role::kDeveloper || (role == Role::kSystem && index > 0);
  }

  void remove_early_developers() {
    std::size_t last = 0;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      const Role role = messages_[i].role == Role::kTool ? Role::kUser : messages_[i].role;
      if (is_boundary(role, i)) last = i;
    }
    std::vector<Message> kept;
    for (std::size_t i = 0; i < messages_.size(); ++i) {
      if (i >= last || messages_[i].role != Role::kDeveloper) kept.push_back(messages_[i]);
    }
    messages_ = std::move(kept);
  }

  // ---- recipe rules ----

  Status render_recipe() {
    segments().token(kBeginOfSentence);
    bool open = false;
    for (std::size_t k = 0; k < turns_.size(); ++k) {
      if (k == 0) begin_first_turn(turns_[0]);
      open = k + 1 == turns_.size() && turns_[k].role == Role::kAssistant && turns_[k].message->open;
      DI_TRY(open ? append_open_turn(*turns_[k].message) : append_recipe_turn(turns_[k], k));
    }
    if (!open) append_final_header();
    append_forced_call();
    return {};
  }

  // A first system message prints its own token; before any other first message the effort line brings one.
  void begin_first_turn(const Turn& first) {
    if (first.role == Role::kSystem || !thinking()) return;
    segments().token(kSystem);
    append_effort_line();
  }

  Status append_recipe_turn(const Turn& turn, std::size_t index) {
    switch (turn.role) {
      case Role::kSystem: return append_recipe_system(*turn.message, index);
      case Role::kLatestReminder: return append_reminder(*turn.message);
      case Role::kAssistant: return append_closed_turn(*turn.message);
      case Role::kUser:
      case Role::kTool: return append_user_turn(turn);
      case Role::kDeveloper: break;
    }
    return request_error("unknown_role", "messages", "role developer is known to the checkpoint rules only");
  }

  Status append_recipe_system(const Message& message, std::size_t index) {
    PromptSegments body;
    if (index == 0 && thinking()) body.text(effort_line());
    DI_TRY(append_content(body, message));
    if (index == 0) {
      append_tools_block(body, tools_);
      append_format(body, conversation_.response_format);
    }
    append_updated_tools(body, message.tools);
    if (index == 0 && body.empty()) return {};
    segments().token(kSystem);
    segments().append(body);
    return {};
  }

  Status append_closed_turn(const Message& message) {
    segments().token(kAssistant);
    if (thinking() && !tools_.empty()) {
      segments().token(kThinkStart);
      segments().text(message.reasoning);
    }
    segments().token(kThinkEnd);
    return append_answer(message);
  }

  Status append_open_turn(const Message& message) {
    segments().token(kAssistant);
    const bool has_content = has_text(message);
    if (thinking()) {
      segments().token(kThinkStart);
      segments().text(message.reasoning);
    }
    if (!thinking() || has_content) segments().token(kThinkEnd);
    if (thinking()) out_.initial_stage = open_stage(message);
    return append_content(segments(), message);
  }

  static InitialStage open_stage(const Message& message) {
    if (has_text(message)) return InitialStage::kContentContinuation;
    return message.reasoning.empty() ? InitialStage::kReasoningStart : InitialStage::kReasoningContinuation;
  }

  static bool has_text(const Message& message) {
    return message.content.size() > 1 ||
           (message.content.size() == 1 &&
            (message.content[0].kind == Block::Kind::kImage || !message.content[0].text.empty()));
  }

  void append_final_header() {
    segments().token(kAssistant);
    segments().token(thinking() ? kThinkStart : kThinkEnd);
    if (thinking()) out_.initial_stage = InitialStage::kReasoningStart;
  }

  void append_forced_call() {
    if (conversation_.tool_choice != ToolChoice::kForced || tools_.empty()) return;
    segments().text("\n\n<");
    segments().token(kDsml);
    segments().text(" calls>\n");
    out_.opened_call_block = true;
  }

  // ---- checkpoint rules ----

  Status render_checkpoint() {
    segments().token(kBeginOfSentence);
    for (std::size_t k = 0; k < turns_.size(); ++k) {
      if (is_boundary(turns_[k].role, k)) last_boundary_ = static_cast<std::int64_t>(k);
    }
    for (std::size_t k = 0; k < turns_.size(); ++k) {
      if (k == 0) begin_first_turn(turns_[0]);
      DI_TRY(append_checkpoint_turn(k));
      DI_TRY(append_next_header(k));
    }
    set_checkpoint_stage();
    append_forced_call();
    return {};
  }

  Status append_checkpoint_turn(std::size_t k) {
    const Turn& turn = turns_[k];
    switch (turn.role) {
      case Role::kSystem: return append_checkpoint_system(*turn.message, k);
      case Role::kDeveloper: return append_developer(*turn.message);
      case Role::kLatestReminder: return append_reminder(*turn.message);
      case Role::kAssistant: break;
      case Role::kUser:
      case Role::kTool: return append_user_turn(turn);
    }
    const bool after_task = k > 0 && !turns_[k - 1].task.empty();
    if (thinking() && !after_task && (!dropping_ || static_cast<std::int64_t>(k) > last_boundary_)) {
      segments().text(turn.message->reasoning);
      segments().token(kThinkEnd);
    }
    return append_answer(*turn.message);
  }

  Status append_checkpoint_system(const Message& message, std::size_t index) {
    segments().token(kSystem);
    if (index == 0 && thinking()) append_effort_line();
    DI_TRY(append_content(segments(), message));
    if (index > 0) {
      append_updated_tools(segments(), message.tools);
    } else {
      std::vector<Tool> tools = message.tools;
      tools.insert(tools.end(), tools_.begin(), tools_.end());
      append_tools_block(segments(), tools);
      append_format(segments(), conversation_.response_format);
    }
    append_format(segments(), message.response_format);
    return {};
  }

  Status append_developer(const Message& message) {
    if (!has_text(message)) {
      return request_error("empty_developer_content", "messages", "a developer message needs content");
    }
    segments().token(kUser);
    DI_TRY(append_content(segments(), message));
    append_tools_block(segments(), message.tools);
    append_format(segments(), message.response_format);
    return {};
  }

  Status append_next_header(std::size_t k) {
    const bool last = k + 1 == turns_.size();
    if (!last && turns_[k + 1].role != Role::kAssistant && turns_[k + 1].role != Role::kLatestReminder) {
      return check_task(turns_[k].task);
    }
    const Turn& turn = turns_[k];
    if (!turn.task.empty()) return append_task(turn.task);
    if (!is_boundary(turn.role, k)) return {};
    segments().token(kAssistant);
    segments().token(thinking() && (!dropping_ || static_cast<std::int64_t>(k) >= last_boundary_) ? kThinkStart
                                                                                                  : kThinkEnd);
    return {};
  }

  static Status check_task(const std::string& task) {
    static constexpr std::string_view kTasks[] = {"", "action", "query", "authority", "domain", "title", "read_url"};
    if (std::find(std::begin(kTasks), std::end(kTasks), task) != std::end(kTasks)) return {};
    return request_error(
        "invalid_task", "messages",
        fmt::format("task \"{}\"; accepted are action, query, authority, domain, title, read_url", task));
  }

  Status append_task(const std::string& task) {
    DI_TRY(check_task(task));
    if (task == "action") {
      segments().token(kAssistant);
      segments().token(thinking() ? kThinkStart : kThinkEnd);
    }
    segments().token(fmt::format("<｜{}｜>", task));
    return {};
  }

  void set_checkpoint_stage() {
    if (!thinking()) return;
    const bool open = !turns_.empty() && turns_.back().role == Role::kAssistant && turns_.back().message->open;
    if (open) {
      out_.initial_stage = InitialStage::kContentContinuation;
    } else if (segments().items().back().text == kThinkStart) {
      out_.initial_stage = InitialStage::kReasoningStart;
    }
  }

  // ---- shared parts ----

  std::string effort_line() const {
    return fmt::format("Reasoning Effort: {} (range 1-100, the higher the value, the more thorough the reasoning)\n\n",
                       conversation_.effort);
  }
  void append_effort_line() { segments().text(effort_line()); }

  Status append_reminder(const Message& message) {
    segments().token(kLatestReminder);
    return append_content(segments(), message);
  }

  Status append_user_turn(const Turn& turn) {
    segments().token(kUser);
    std::string_view separator;
    for (const TurnBlock& block : turn.blocks) {
      segments().text(separator);
      if (block.is_result()) segments().text("<tool_result>");
      DI_TRY(append_content(segments(), *block.message));
      if (block.is_result()) segments().text("</tool_result>");
      separator = kBlankLine;
    }
    return {};
  }

  Status append_answer(const Message& message) {
    DI_TRY(append_content(segments(), message));
    if (!message.tool_calls.empty()) {
      segments().text(kBlankLine);
      DI_TRY(append_call_block(message.tool_calls));
    }
    if (recipe() || !message.open) segments().token(kEndOfSentence);
    return {};
  }

  Status append_call_block(const std::vector<ToolCall>& calls) {
    segments().text("<");
    segments().token(kDsml);
    segments().text(" calls>\n");
    for (const ToolCall& call : calls) {
      const auto written = registry_ != nullptr ? registry_->find(call) : std::nullopt;
      if (written) {
        segments().append(*written);
      } else {
        DI_TRY(append_call(segments(), call, conversation_.rules));
      }
      segments().text("\n");
    }
    segments().text("</");
    segments().token(kDsml);
    segments().text(" calls>");
    return {};
  }

  // Parts joined by blank lines. The first `attached_images` placeholders in the text are real image tokens.
  Status append_content(PromptSegments& out, const Message& message) {
    std::int64_t placeholders = message.attached_images;
    out_.images += message.attached_images;
    std::string_view separator;
    for (const Block& block : message.content) {
      out.text(separator);
      separator = kBlankLine;
      if (block.kind == Block::Kind::kImage) {
        DI_TRY(check_image(block));
        out.token(kImage);
        ++out_.images;
        out_.image_sources.push_back(block.source);
        continue;
      }
      DI_TRY(check_text(block.text));
      append_text_with_placeholders(out, block.text, placeholders);
    }
    return {};
  }

  Status check_image(const Block& block) const {
    if (recipe() || !block.source.empty()) return {};
    return request_error("image_without_source", "messages", "an image block needs a url");
  }
  Status check_text(const std::string& text) const {
    if (recipe() || text.find(kImage) == std::string::npos) return {};
    return request_error("image_placeholder_in_text", "messages",
                         fmt::format("text contains the literal {}; attach images as blocks", kImage));
  }

  static void append_text_with_placeholders(PromptSegments& out, std::string_view text, std::int64_t& placeholders) {
    for (; placeholders > 0; --placeholders) {
      const std::size_t at = text.find(kImage);
      if (at == std::string_view::npos) break;
      out.text(text.substr(0, at));
      out.token(kImage);
      text.remove_prefix(at + kImage.size());
    }
    out.text(text);
  }

  std::string schema_lines(const std::vector<Tool>& tools) const {
    std::string lines;
    for (const Tool& tool : tools) {
      if (!lines.empty()) lines += '\n';
      lines += python_json(tool.line, big_integers_of(conversation_.rules));
    }
    return lines;
  }

  void append_tools_block(PromptSegments& out, const std::vector<Tool>& tools) const {
    if (tools.empty()) return;
    const std::vector<std::string_view> markers = {kDsml, kThinkStart, kThinkEnd};
    const std::size_t at = kToolsBlock.find(kSchemasPlaceholder);
    out.text(kBlankLine);
    out.text_with_tokens(kToolsBlock.substr(0, at), markers);
    out.text(schema_lines(tools));
    out.text_with_tokens(kToolsBlock.substr(at + kSchemasPlaceholder.size()), markers);
  }

  void append_updated_tools(PromptSegments& out, const std::vector<Tool>& tools) const {
    if (tools.empty()) return;
    out.text("\n\n### Updated Tool Schemas\n\n");
    out.text(schema_lines(tools));
  }

  void append_format(PromptSegments& out, const ResponseFormat& format) const {
    const bool json_object = format.kind == ResponseFormat::Kind::kJsonObject;
    if (!json_object && format.kind != ResponseFormat::Kind::kSchema) return;
    out.text(kBlankLine);
    out.text(kFormatHeader);
    out.text(json_object ? std::string(kJsonObjectFormat)
                         : python_json(format.schema, big_integers_of(conversation_.rules)));
  }

  const Conversation& conversation_;
  const ToolCallRegistry* registry_;
  std::vector<Message> messages_;
  std::vector<Tool> tools_;  // after tool_choice and defer_loading
  std::vector<Turn> turns_;
  bool dropping_ = false;  // checkpoint rules: reasoning before the last boundary is dropped
  std::int64_t last_boundary_ = -1;
  EncodedPrompt out_;
};

}  // namespace

Result<EncodedPrompt> Dsv41Encoder::encode(const Conversation& conversation) const {
  return Rendering(conversation, registry_).run();
}

}  // namespace deepinfer::prompt
