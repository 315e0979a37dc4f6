// JSON lines of `deepinfer render` and `deepinfer parse` (cli.md).
#include <fmt/format.h>

#include <array>

#include "base/error.h"
#include "prompt/conversation_json.h"
#include "prompt/prompt.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"
#include "prompt/strict_parser.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

constexpr std::array<std::string_view, 3> kStageNames = {"reasoning_start", "reasoning_continuation",
                                                         "content_continuation"};

bool has_messages_block(const Json& line) {
  const Json* messages = present(line, "messages");
  if (messages == nullptr || !messages->is_array()) return false;
  for (const Json& message : messages->items()) {
    const Json* content = present(message, "content");
    if (content == nullptr || !content->is_array()) continue;
    for (const Json& block : content->items()) {
      const Json* type = present(block, "type");
      if (type == nullptr || !type->is_string()) continue;
      for (const std::string_view word : {"tool_use", "tool_result", "thinking", "redacted_thinking", "image"}) {
        if (type->string() == word) return true;
      }
    }
  }
  return false;
}

// `input` belongs to Responses; `system`, `stop_sequences`, `output_config`, `input_schema` and the block types to
// Messages; anything else is a chat request.
RequestForm recognise_form(const Json& line) {
  if (present(line, "input") != nullptr) return RequestForm::kResponses;
  for (const std::string_view key : {"system", "stop_sequences", "output_config"}) {
    if (present(line, key) != nullptr) return RequestForm::kMessages;
  }
  const Json* tools = present(line, "tools");
  const bool flat_tools = tools != nullptr && tools->is_array() && !tools->items().empty() &&
                          tools->items()[0].find("input_schema") != nullptr;
  return flat_tools || has_messages_block(line) ? RequestForm::kMessages : RequestForm::kChat;
}

Result<RenderedPrompt> render_any(const Json& line, const RenderSettings& settings) {
  DI_TRY(require_object(line, "line"));
  const Json* mode = present(line, "thinking_mode");
  if (!settings.form && mode != nullptr) {
    const Rules by_mode = mode->is_string() ? Rules::kCheckpoint : Rules::kRecipe;
    DI_ASSIGN(const Conversation conversation, read_conversation(line, settings.request.rules.value_or(by_mode)));
    return render_conversation(conversation);
  }
  return render_request(line, settings.form.value_or(recognise_form(line)), settings.request);
}

Json ranges_json(const std::vector<PromptSegments::Range>& ranges) {
  Json out = Json::array();
  for (const auto& [begin, end] : ranges) out.push(Json::Array{begin, end});
  return out;
}

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

Json events_json(const std::vector<ParseEvent>& events) {
  Json out = Json::array();
  for (const ParseEvent& event : events) out.push(event_json(event));
  return out;
}

Result<std::vector<tokenizer::TokenId>> read_ids(const Json& chunk) {
  std::vector<tokenizer::TokenId> ids;
  for (const Json& item : chunk.items()) {
    const auto id = item.as_int();
    if (!id || *id < 0 || *id > INT32_MAX) {
      return request_error("body_invalid_type", "chunks", fmt::format("{} is not a token id", base::dump_json(item)));
    }
    ids.push_back(static_cast<tokenizer::TokenId>(*id));
  }
  return ids;
}

Result<std::vector<ParseEvent>> push_chunk(OutputParser& parser, const Json& chunk) {
  if (chunk.is_string()) return parser.push_text(chunk.string());
  if (!chunk.is_array()) {
    return request_error("body_invalid_type", "chunks", "a chunk is a text or a list of token ids");
  }
  DI_ASSIGN(const auto ids, read_ids(chunk));
  return parser.push_tokens(ids);
}

Result<OutputParser> make_parser(const ParsingOptions& options, const Json::Array& chunks,
                                 const tokenizer::Tokenizer* tokenizer) {
  if (chunks.empty() || !chunks[0].is_array()) return OutputParser(options);
  if (tokenizer == nullptr) return errorf(ErrorCode::kInvalidArgument, "chunks of token ids need a tokenizer");
  return OutputParser::for_tokens(options, *tokenizer);
}

Result<Json> parse_chunks(const Json::Array& chunks, const ParsingOptions& options, std::string_view finish,
                          const tokenizer::Tokenizer* tokenizer) {
  DI_ASSIGN(OutputParser parser, make_parser(options, chunks, tokenizer));
  Json events = Json::array();
  for (const Json& chunk : chunks) {
    const bool over = parser.finished();
    DI_ASSIGN(const auto chunk_events, push_chunk(parser, chunk));
    events.push(over ? Json() : events_json(chunk_events));
  }
  if (!parser.finished()) events.push(events_json(parser.finish(finish)));
  return Json(Json::Object{{"events", std::move(events)}});
}

}  // namespace

Json inference_json(const InferenceSettings& inference) {
  Json out;
  out.set("max_tokens", or_null(inference.max_tokens));
  out.set("temperature", static_cast<double>(inference.temperature));
  out.set("top_p", static_cast<double>(inference.top_p));
  out.set("logprobs", inference.logprobs);
  out.set("top_logprobs", or_null(inference.top_logprobs));
  out.set("seed", or_null(inference.seed));
  Json constraint;
  if (inference.constraint) {
    constraint.set("kind", inference.constraint->kind).set("schema", inference.constraint->schema);
  }
  out.set("constraint", std::move(constraint));
  return out;
}

Json parsing_json(const ParsingOptions& parsing) {
  Json out;
  out.set("parse_tool_calls", parsing.parse_tool_calls);
  out.set("starts_in_tool_calls", parsing.starts_in_tool_calls);
  out.set("parse_json_output", parsing.parse_json_output);
  out.set("initial_stage",
          parsing.initial_stage ? Json(kStageNames[static_cast<std::size_t>(*parsing.initial_stage)]) : Json());
  Json stops = Json::array();
  for (const std::string& stop : parsing.stop_sequences) stops.push(stop);
  out.set("stop_sequences", std::move(stops));
  return out;
}

Json event_json(const ParseEvent& event) {
  switch (event.kind) {
    case ParseEvent::Kind::kReasoning: return Json::Array{"reasoning", event.text};
    case ParseEvent::Kind::kContent: return Json::Array{"content", event.text};
    case ParseEvent::Kind::kCall: return Json::Array{"call", event.index, event.text};
    case ParseEvent::Kind::kArguments: return Json::Array{"arguments", event.index, event.text};
    case ParseEvent::Kind::kFinish: return Json::Array{"finish", event.text};
  }
  return {};
}

Json completion_json(const ParsedCompletion& completion) {
  Json calls = Json::array();
  for (const ParsedCall& call : completion.tool_calls) {
    calls.push(Json::Object{{"name", call.name}, {"arguments", call.arguments}});
  }
  Json out;
  out.set("reasoning", completion.reasoning).set("content", completion.content);
  out.set("tool_calls", std::move(calls)).set("finish_reason", completion.finish_reason);
  return out;
}

Result<std::optional<InitialStage>> read_stage(const Json& stage) {
  if (stage.is_null()) return std::nullopt;
  for (std::size_t i = 0; i < kStageNames.size(); ++i) {
    if (stage.is_string() && stage.string() == kStageNames[i]) return static_cast<InitialStage>(i);
  }
  return unknown_variant("stage", stage.is_string() ? stage.string() : base::dump_json(stage),
                         fmt::format("{}, null", fmt::join(kStageNames, ", ")));
}

Result<ParsingOptions> read_parsing_options(const Json& options) {
  DI_TRY(require_object(options, "options"));
  ParsingOptions out;
  if (present(options, "parse_tool_calls") != nullptr) {
    DI_ASSIGN(out.parse_tool_calls, optional_bool(options, "parse_tool_calls", "options"));
  }
  DI_ASSIGN(out.starts_in_tool_calls, optional_bool(options, "starts_in_tool_calls", "options"));
  DI_ASSIGN(out.parse_json_output, optional_bool(options, "parse_json_output", "options"));
  DI_ASSIGN(out.stop_sequences, read_stops(options, "stop_sequences", Profile::kDefault));
  return out;
}

Result<Json> render_line(const Json& line, const tokenizer::Tokenizer* tokenizer, const RenderSettings& settings) {
  DI_ASSIGN(const RenderedPrompt prompt, render_any(line, settings));
  Json out;
  out.set("prompt", prompt.text);
  if (tokenizer != nullptr) {
    DI_ASSIGN(const auto ids, segments_to_ids(prompt.segments, *tokenizer));
    Json list = Json::array();
    for (const auto id : ids) list.push(static_cast<std::int64_t>(id));
    out.set("ids", std::move(list));
  }
  out.set("special_ranges", ranges_json(prompt.special_ranges));
  out.set("images", prompt.images);
  out.set("thinking", prompt.thinking).set("effort", prompt.effort);
  out.set("inference", inference_json(prompt.inference));
  out.set("parsing", parsing_json(prompt.parsing));
  out.set("stream", prompt.stream);
  return out;
}

Result<Json> parse_line(const Json& line, const tokenizer::Tokenizer* tokenizer, ParserKind kind) {
  DI_TRY(require_object(line, "line"));
  const Json* options_field = present(line, "options");
  DI_ASSIGN(ParsingOptions options, read_parsing_options(options_field != nullptr ? *options_field : Json::object()));
  const Json* stage = present(line, "stage");
  if (stage == nullptr) stage = present(line, "initial_stage");
  if (stage != nullptr) {
    DI_ASSIGN(options.initial_stage, read_stage(*stage));
  }
  DI_ASSIGN(const auto finish, optional_string(line, "finish", ""));
  if (const Json* chunks = present(line, "chunks")) {
    if (!chunks->is_array()) return request_error("body_invalid_type", "chunks", "wanted a list");
    return parse_chunks(chunks->items(), options, finish.value_or("stop"), tokenizer);
  }
  DI_ASSIGN(const std::string text, required_string(line, "text", ""));
  if (kind == ParserKind::kLenient) return completion_json(parse_completion(text, finish.value_or("stop"), options));
  DI_ASSIGN(const ParsedCompletion completion, parse_strict(text, options.initial_stage));
  return completion_json(completion);
}

}  // namespace deepinfer::prompt
