// The streaming parser of completions: reasoning, answer and tool calls.
//
// A state machine with hold-back: it is fed chunks of text, or chunks of token ids, and returns events whose
// concatenation does not depend on how the input was cut. It never fails on what a model writes. In token mode only
// the ids of `</think>` and of the tool marker are markers; the same spelling made of other ids is text.
// Source: tokenizer-and-prompts.md 5.1.
//
//   OutputParser parser(options);                          // text
//   DI_ASSIGN(auto parser, OutputParser::for_tokens(options, tokenizer));   // ids
//   events = parser.push_text("…");  …  events = parser.finish("stop");
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "prompt/encoder.h"
#include "prompt/json_answer_filter.h"
#include "prompt/messages.h"
#include "prompt/stop_scanner.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace deepinfer::prompt {

struct ParseEvent {
  enum class Kind : std::uint8_t { kReasoning, kContent, kCall, kArguments, kFinish };
  Kind kind = Kind::kContent;
  std::int64_t index = 0;  ///< of the call; calls and arguments only
  std::string text;        ///< text, tool name, piece of the arguments or finish reason

  bool operator==(const ParseEvent&) const = default;
};

class OutputParser {
 public:
  /// Text mode: markers are recognised by their spelling.
  explicit OutputParser(const ParsingOptions& options) : OutputParser(options, nullptr) {}
  /// Token mode; `tokenizer` outlives the parser. Errors: kNotFound if the vocabulary lacks a marker.
  static Result<OutputParser> for_tokens(const ParsingOptions& options, const tokenizer::Tokenizer& tokenizer);

  /// Events of one chunk; adjacent events of one kind are merged. Nothing once the stream has finished.
  std::vector<ParseEvent> push_text(std::string_view text);
  /// Errors: kInvalidArgument for an id outside the vocabulary; text mode parsers refuse ids.
  Result<std::vector<ParseEvent>> push_tokens(std::span<const tokenizer::TokenId> ids);
  /// The rest and the finish event. `reason`: "stop", "length", "contentfilter" or any other word, passed through;
  /// "stop" becomes "tool_calls" after a call, "contentfilter" is spelt "content_filter".
  std::vector<ParseEvent> finish(std::string_view reason);

  /// A stop string ended the stream, or `finish` was called.
  bool finished() const { return finished_; }
  std::int64_t calls() const { return calls_; }
  /// Bytes that the machine dropped: text around tags, after the block, and broken tags.
  std::int64_t dropped_bytes() const { return dropped_bytes_; }
  /// Values given as JSON (`string="false"`) that are not JSON; they are delivered as they are.
  std::int64_t invalid_values() const { return invalid_values_; }
  /// The invoke of each closed call as the model wrote it, for ToolCallRegistry. Calls are closed in order.
  const std::vector<PromptSegments>& call_segments() const { return call_segments_; }

 private:
  enum class State : std::uint8_t { kReasoning, kContent, kBlock, kName, kCall, kKey, kType, kValue, kDone };

  // Spelling of the patterns in the stream that the machine sees. In token mode a marker is one byte that cannot
  // occur in UTF-8, so text can never look like one.
  struct Patterns {
    std::string think_end;
    std::string open, close;           // "<§", "</§"
    std::string invoke, invoke_tight;  // "<§ invoke name=\"" and without the blank
    std::string parameter, parameter_tight;
  };
  static Patterns make_patterns(std::string_view think_end, std::string_view dsml);

  OutputParser(const ParsingOptions& options, const tokenizer::Tokenizer* tokenizer);

  // A match of one of up to three patterns in the input, or the place from which text has to be held back.
  struct Scan {
    std::size_t at = 0;  // text before this is free
    int pattern = -1;    // index of the pattern found at `at`; -1: none
  };
  static Scan scan(std::string_view input, std::initializer_list<std::string_view> patterns);

  void feed(std::string_view text);  // runs the machine over held + text
  bool step(std::string_view& input);
  bool step_text(std::string_view& input);  // reasoning and content
  bool step_block(std::string_view& input);
  bool step_name(std::string_view& input);
  bool step_call(std::string_view& input);
  bool step_key(std::string_view& input);
  bool step_type(std::string_view& input);
  bool step_value(std::string_view& input);
  bool step_done(std::string_view& input);
  void enter_block(std::string_view before);
  void close_call();
  void add_value(std::string_view text);
  std::string empty_arguments() const;
  bool inside_invoke() const { return state_ >= State::kName && state_ <= State::kValue; }
  void flush_held();

  void add_text(std::string_view text);  // reasoning or content, after the newline rules
  void release_newlines();
  void add_shown(const std::string& text);  // of the reasoning or content state
  void emit(ParseEvent::Kind kind, std::string_view text);
  void emit_arguments(std::string_view text) { emit(ParseEvent::Kind::kArguments, text); }
  void flush_content();  // sends the chunk's content through the filters
  void flush_filters();
  std::string expand(std::string_view text) const;  // marker bytes back to their literals
  void drop(std::size_t bytes) { dropped_bytes_ += static_cast<std::int64_t>(bytes); }
  std::vector<ParseEvent> take_events();

  const tokenizer::Tokenizer* tokenizer_ = nullptr;  // token mode
  std::optional<tokenizer::TokenId> think_end_id_, dsml_id_;
  Patterns patterns_;
  bool parse_tool_calls_;
  bool json_output_;
  bool reasoning_fallback_;
  bool accept_json_invoke_;

  State state_ = State::kContent;
  std::string held_;                   // a proper prefix of a pattern of the state
  std::int64_t pending_newlines_ = 0;  // newlines at the end of the text so far, before `held_`
  bool skip_newlines_ = false;         // at the start of reasoning or content
  std::string name_;                   // of the call being read
  std::string invoke_;                 // everything of it so far
  std::string body_;                   // text inside it before a parameter, with accept_json_invoke
  std::string value_;                  // of the JSON parameter being read
  std::string unclosed_reasoning_;     // with reasoning_fallback
  bool key_in_quotes_ = false;
  bool first_parameter_ = true;
  bool string_value_ = false;
  std::int64_t calls_ = 0;
  std::int64_t dropped_bytes_ = 0;
  std::int64_t invalid_values_ = 0;
  std::vector<PromptSegments> call_segments_;
  bool finished_ = false;

  tokenizer::Utf8Filter utf8_;
  JsonAnswerFilter json_filter_;
  StopScanner stops_;
  std::string content_;  // of this chunk, before the filters
  std::vector<ParseEvent> events_;
};

/// A whole completion.
struct ParsedCall {
  std::string name;
  std::string arguments;
  bool operator==(const ParsedCall&) const = default;
};
struct ParsedCompletion {
  std::string reasoning;
  std::string content;
  std::vector<ParsedCall> tool_calls;
  std::string finish_reason;
  bool operator==(const ParsedCompletion&) const = default;
};
/// Adds events to a completion.
void accumulate(ParsedCompletion& completion, const std::vector<ParseEvent>& events);
/// One-shot parse of text.
ParsedCompletion parse_completion(std::string_view text, std::string_view finish, const ParsingOptions& options);

}  // namespace deepinfer::prompt
