// The prompt layer in one header: requests and conversations to prompts, prompts to token ids, JSON lines for
// `deepinfer render` and `deepinfer parse`.
//
//   DI_ASSIGN(auto conversation, make_simple_chat({.user = "Hello"}));
//   DI_ASSIGN(const auto prompt, render_conversation(conversation));
//   DI_ASSIGN(const auto ids, segments_to_ids(prompt.segments, tokenizer));
//   DI_ASSIGN(auto parser, OutputParser::for_tokens(prompt.parsing, tokenizer));
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"
#include "deepinfer/status.h"
#include "prompt/encoder.h"
#include "prompt/messages.h"
#include "prompt/output_parser.h"
#include "prompt/requests.h"
#include "prompt/tool_call_registry.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::prompt {

struct RenderedPrompt {
  PromptSegments segments;
  std::string text;                                   ///< all segments joined
  std::vector<PromptSegments::Range> special_ranges;  ///< code points of `text` that are structure tokens
  std::int64_t images = 0;                            ///< the text engine refuses prompts with images
  std::vector<std::string> image_sources;             ///< URLs of image blocks in the order of their tokens
  bool thinking = true;
  int effort = kDefaultEffort;
  ParsingOptions parsing;
  InferenceSettings inference;
  bool stream = false;
};

/// Renders a conversation by its rules; parsing options and constraint follow from it. With a registry, calls of the
/// history are rendered as the model wrote them.
Result<RenderedPrompt> render_conversation(const Conversation& conversation,
                                           const ToolCallRegistry* registry = nullptr);

/// Converts and renders one request. Errors: request_error.h.
Result<RenderedPrompt> render_request(const base::Json& body, RequestForm form, const RequestSettings& settings,
                                      const ToolCallRegistry* registry = nullptr);

/// Token ids of a prompt: structure tokens by their literal, text without special parsing.
/// Errors: kNotFound naming a structure token that the vocabulary lacks.
Result<std::vector<tokenizer::TokenId>> segments_to_ids(const PromptSegments& segments,
                                                        const tokenizer::Tokenizer& tokenizer);

/// A chat as the command line knows it: a user message, or messages in the chat form, with the usual options.
struct SimpleChat {
  std::string user;
  std::optional<std::string> system;
  std::optional<base::Json> messages;  ///< a list of chat messages or a chat request body, instead of user and system
  std::optional<base::Json> tools;     ///< a list of tools as in a chat request
  std::optional<bool> thinking;        ///< default: as the body says, else on
  std::optional<int> effort;           ///< 1..100; default as above, else 75
};
/// Errors: what a chat request (default profile) would not accept, an effort outside 1..100.
Result<Conversation> make_simple_chat(const SimpleChat& chat);

/// How lines of `render` are read; without a form it is recognised from the fields.
struct RenderSettings {
  std::optional<RequestForm> form;
  RequestSettings request;  ///< `rules` also decides how conversations given directly (`thinking_mode`) are read
};

/// One line of `deepinfer render`: a request or conversation in, {prompt, special_ranges, images, ids, thinking,
/// effort, inference, parsing, stream} out; ids need a tokenizer.
Result<base::Json> render_line(const base::Json& line, const tokenizer::Tokenizer* tokenizer,
                               const RenderSettings& settings = {});

enum class ParserKind { kLenient, kStrict };

/// One line of `deepinfer parse`: {text | chunks, stage, finish, options} in. Text gives {reasoning, content,
/// tool_calls, finish_reason}; chunks (of text or of ids, which need a tokenizer) give {events: [a list a chunk, then
/// those of the end]}; a stop string finishes the stream: later chunks are null and there is no end.
Result<base::Json> parse_line(const base::Json& line, const tokenizer::Tokenizer* tokenizer,
                              ParserKind kind = ParserKind::kLenient);

/// JSON forms used by the lines above and by the vectors.
base::Json inference_json(const InferenceSettings& inference);
base::Json parsing_json(const ParsingOptions& parsing);
base::Json event_json(const ParseEvent& event);
base::Json completion_json(const ParsedCompletion& completion);
/// "reasoning_start", "reasoning_continuation", "content_continuation", null. Errors: another word.
Result<std::optional<InitialStage>> read_stage(const base::Json& stage);
/// {parse_tool_calls, starts_in_tool_calls, parse_json_output, stop_sequences}, all optional.
Result<ParsingOptions> read_parsing_options(const base::Json& options);

}  // namespace deepinfer::prompt
