#include "prompt/prompt.h"

#include <fmt/format.h>

#include "base/error.h"
#include "prompt/dsv41_encoder.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"

namespace deepinfer::prompt {

using base::Json;

namespace {

Result<RenderedPrompt> render_converted(ConvertedRequest request, const ToolCallRegistry* registry) {
  DI_ASSIGN(EncodedPrompt encoded, Dsv41Encoder(registry).encode(request.conversation));
  RenderedPrompt out;
  out.text = encoded.segments.prompt();
  out.special_ranges = encoded.segments.special_ranges();
  out.segments = std::move(encoded.segments);
  out.images = encoded.images;
  out.image_sources = std::move(encoded.image_sources);
  out.thinking = request.conversation.thinking;
  out.effort = request.conversation.effort;
  out.parsing = std::move(request.parsing);
  out.parsing.initial_stage = encoded.initial_stage;
  out.parsing.starts_in_tool_calls = encoded.opened_call_block;
  out.inference = std::move(request.inference);
  out.stream = request.stream;
  return out;
}

}  // namespace

Result<RenderedPrompt> render_conversation(const Conversation& conversation, const ToolCallRegistry* registry) {
  ConvertedRequest request;
  request.conversation = conversation;
  finish_conversion(request, {});
  for (const Message& message : conversation.messages) {
    if (!message.tools.empty()) request.parsing.parse_tool_calls = true;
  }
  return render_converted(std::move(request), registry);
}

Result<RenderedPrompt> render_request(const Json& body, RequestForm form, const RequestSettings& settings,
                                      const ToolCallRegistry* registry) {
  DI_ASSIGN(ConvertedRequest request, convert_request(form, body, settings));
  return render_converted(std::move(request), registry);
}

Result<std::vector<tokenizer::TokenId>> segments_to_ids(const PromptSegments& segments,
                                                        const tokenizer::Tokenizer& tokenizer) {
  std::vector<tokenizer::TokenId> ids;
  for (const Segment& segment : segments.items()) {
    if (segment.kind == Segment::Kind::kToken) {
      const auto id = tokenizer.token_to_id(segment.text);
      if (!id) return errorf(ErrorCode::kNotFound, "the vocabulary has no structure token {}", segment.text);
      ids.push_back(*id);
      continue;
    }
    DI_ASSIGN(const auto text_ids, tokenizer.encode(segment.text, tokenizer::SpecialMode::kText));
    ids.insert(ids.end(), text_ids.begin(), text_ids.end());
  }
  return ids;
}

Result<Conversation> make_simple_chat(const SimpleChat& chat) {
  if (chat.effort && (*chat.effort < 1 || *chat.effort > kMaxEffort)) {
    return errorf(ErrorCode::kInvalidArgument, "effort {}; accepted are 1 to {}", *chat.effort, kMaxEffort);
  }
  Json body = Json::object();
  if (!chat.messages) {
    Json messages = Json::array();
    if (chat.system) messages.push(Json::Object{{"role", "system"}, {"content", *chat.system}});
    messages.push(Json::Object{{"role", "user"}, {"content", chat.user}});
    body.set("messages", std::move(messages));
  } else if (chat.messages->is_object()) {
    body = *chat.messages;
  } else {
    body.set("messages", *chat.messages);
  }
  if (chat.tools) body.set("tools", *chat.tools);
  DI_ASSIGN(ConvertedRequest request, convert_chat_request(body, {}));
  Conversation conversation = std::move(request.conversation);
  if (chat.thinking) conversation.thinking = *chat.thinking;
  if (chat.effort) conversation.effort = *chat.effort;
  return conversation;
}

}  // namespace deepinfer::prompt
