#include "prompt/output_parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "prompt/python_json.h"
#include "prompt/structure_tokens.h"

namespace deepinfer::prompt {
namespace {

// Bytes that UTF-8 never contains.
constexpr char kThinkEndByte = '\xFE';
constexpr char kDsmlByte = '\xFF';

constexpr std::string_view kStringTrue = "string=\"true\">";
constexpr std::string_view kStringFalse = "string=\"false\">";

}  // namespace

OutputParser::Patterns OutputParser::make_patterns(std::string_view think_end, std::string_view dsml) {
  const auto tag = [&](std::string_view rest) { return fmt::format("<{}{}", dsml, rest); };
  return {.think_end = std::string(think_end),
          .open = tag(""),
          .close = fmt::format("</{}", dsml),
          .invoke = tag(" invoke name=\""),
          .invoke_tight = tag("invoke name=\""),
          .parameter = tag(" parameter name="),
          .parameter_tight = tag("parameter name=")};
}

OutputParser::OutputParser(const ParsingOptions& options, const tokenizer::Tokenizer* tokenizer)
    : tokenizer_(tokenizer),
      patterns_(tokenizer == nullptr ? make_patterns(kThinkEnd, kDsml)
                                     : make_patterns({&kThinkEndByte, 1}, {&kDsmlByte, 1})),
      parse_tool_calls_(options.parse_tool_calls),
      json_output_(options.parse_json_output),
      reasoning_fallback_(options.reasoning_fallback),
      accept_json_invoke_(options.accept_json_invoke),
      stops_(options.stop_sequences) {
  if (options.starts_in_tool_calls) {
    state_ = State::kBlock;
  } else if (!options.initial_stage) {
    skip_newlines_ = true;
  } else if (*options.initial_stage != InitialStage::kContentContinuation) {
    state_ = State::kReasoning;
    skip_newlines_ = *options.initial_stage == InitialStage::kReasoningStart;
  }
}

Result<OutputParser> OutputParser::for_tokens(const ParsingOptions& options, const tokenizer::Tokenizer& tokenizer) {
  OutputParser parser(options, &tokenizer);
  parser.think_end_id_ = tokenizer.token_to_id(kThinkEnd);
  parser.dsml_id_ = tokenizer.token_to_id(kDsml);
  if (!parser.think_end_id_) return errorf(ErrorCode::kNotFound, "the vocabulary has no token {}", kThinkEnd);
  if (!parser.dsml_id_) return errorf(ErrorCode::kNotFound, "the vocabulary has no token {}", kDsml);
  return parser;
}

std::vector<ParseEvent> OutputParser::push_text(std::string_view text) {
  if (finished_) return {};
  feed(text);
  flush_content();
  return take_events();
}

Result<std::vector<ParseEvent>> OutputParser::push_tokens(std::span<const tokenizer::TokenId> ids) {
  if (tokenizer_ == nullptr) return errorf(ErrorCode::kInvalidArgument, "this parser reads text, not token ids");
  DI_TRY(tokenizer_->check_ids(ids));
  if (finished_) return std::vector<ParseEvent>{};
  std::string text;
  for (const tokenizer::TokenId id : ids) {
    const bool think_end = id == *think_end_id_;
    if (!think_end && id != *dsml_id_) {
      utf8_.push(tokenizer_->token_bytes(id), text);
      continue;
    }
    utf8_.finish(text);  // undecided bytes before a marker are invalid
    text += think_end ? kThinkEndByte : kDsmlByte;
  }
  return push_text(text);
}

std::vector<ParseEvent> OutputParser::finish(std::string_view reason) {
  if (finished_) return {};
  std::string tail;
  utf8_.finish(tail);
  if (!tail.empty()) feed(tail);
  flush_held();
  if (state_ == State::kReasoning && reason == "stop") content_ += unclosed_reasoning_;
  flush_content();
  if (!finished_) flush_filters();
  if (!finished_) {
    finished_ = true;
    if (reason == "stop" && calls_ > 0) reason = "tool_calls";
    if (reason == "contentfilter") reason = "content_filter";
    events_.push_back({ParseEvent::Kind::kFinish, 0, std::string(reason)});
  }
  return take_events();
}

// The first place where a pattern stands or where the input ends inside one. One pass, whatever the patterns.
OutputParser::Scan OutputParser::scan(std::string_view input, std::initializer_list<std::string_view> patterns) {
  std::string firsts;
  for (const std::string_view pattern : patterns) {
    if (firsts.find(pattern.front()) == std::string::npos) firsts += pattern.front();
  }
  for (std::size_t at = input.find_first_of(firsts); at != std::string_view::npos;
       at = input.find_first_of(firsts, at + 1)) {
    const std::string_view rest = input.substr(at);
    int index = 0;
    for (const std::string_view pattern : patterns) {
      if (rest.starts_with(pattern)) return {at, index};
      if (pattern.starts_with(rest)) return {at, -1};
      ++index;
    }
  }
  return {input.size(), -1};
}

void OutputParser::feed(std::string_view text) {
  const std::string joined = held_.empty() ? std::string(text) : held_ + std::string(text);
  held_.clear();
  std::string_view input = joined;
  for (bool more = true; more && !input.empty();) {
    const std::string_view before = input;
    const bool inside = inside_invoke();
    more = step(input);
    if (inside) invoke_ += before.substr(0, before.size() - input.size());
    if (inside && !inside_invoke()) close_call();
  }
  held_ = input;
}

bool OutputParser::step(std::string_view& input) {
  switch (state_) {
    case State::kReasoning:
    case State::kContent: return step_text(input);
    case State::kBlock: return step_block(input);
    case State::kName: return step_name(input);
    case State::kCall: return step_call(input);
    case State::kKey: return step_key(input);
    case State::kType: return step_type(input);
    case State::kValue: return step_value(input);
    case State::kDone: return step_done(input);
  }
  return false;
}

bool OutputParser::step_text(std::string_view& input) {
  const Scan found =
      parse_tool_calls_ ? scan(input, {patterns_.think_end, patterns_.open}) : scan(input, {patterns_.think_end});
  const std::string_view before = input.substr(0, found.at);
  input.remove_prefix(found.at);
  if (found.pattern < 0) {
    add_text(before);
    return false;
  }
  if (found.pattern == 1) {
    input.remove_prefix(patterns_.open.size());
    enter_block(before);
    return true;
  }
  input.remove_prefix(patterns_.think_end.size());
  add_text(before);
  if (state_ == State::kReasoning) {
    pending_newlines_ = 0;
    state_ = State::kContent;
    skip_newlines_ = true;
  } else {
    release_newlines();
  }
  return true;
}

void OutputParser::enter_block(std::string_view before) {
  add_text(before);
  pending_newlines_ = 0;
  flush_content();
  if (!finished_) flush_filters();
  state_ = State::kBlock;
}

bool OutputParser::step_block(std::string_view& input) {
  const Scan found = scan(input, {patterns_.invoke, patterns_.invoke_tight, patterns_.close});
  drop(found.at);
  input.remove_prefix(found.at);
  if (found.pattern < 0) return false;
  if (found.pattern == 2) {
    input.remove_prefix(patterns_.close.size());
    state_ = State::kDone;
    return true;
  }
  invoke_ = found.pattern == 0 ? patterns_.invoke : patterns_.invoke_tight;
  input.remove_prefix(invoke_.size());
  name_.clear();
  body_.clear();
  state_ = State::kName;
  return true;
}

bool OutputParser::step_name(std::string_view& input) {
  const std::size_t quote = input.find('"');
  name_ += expand(input.substr(0, quote));
  if (quote == std::string_view::npos) {
    input = {};
    return false;
  }
  input.remove_prefix(quote + 1);
  ++calls_;
  events_.push_back({ParseEvent::Kind::kCall, calls_ - 1, name_});
  first_parameter_ = true;
  state_ = State::kCall;
  return true;
}

bool OutputParser::step_call(std::string_view& input) {
  const Scan found = scan(input, {patterns_.parameter, patterns_.parameter_tight, patterns_.close});
  drop(found.at);
  if (accept_json_invoke_ && first_parameter_) body_ += expand(input.substr(0, found.at));
  input.remove_prefix(found.at);
  if (found.pattern < 0) return false;
  if (found.pattern == 2) {
    input.remove_prefix(patterns_.close.size());
    emit_arguments(first_parameter_ ? empty_arguments() : "}");
    state_ = State::kBlock;
    return true;
  }
  input.remove_prefix(found.pattern == 0 ? patterns_.parameter.size() : patterns_.parameter_tight.size());
  emit_arguments(first_parameter_ ? "{" : ", ");
  first_parameter_ = false;
  key_in_quotes_ = false;
  state_ = State::kKey;
  return true;
}

// "{}", or with accept_json_invoke the JSON object that stands where parameters are expected.
std::string OutputParser::empty_arguments() const {
  if (!accept_json_invoke_) return "{}";
  const std::size_t begin = body_.find('{');
  const std::size_t end = body_.rfind('}');
  if (begin == std::string::npos || end == std::string::npos || end < begin) return "{}";
  std::string object = body_.substr(begin, end - begin + 1);
  return base::parse_json(object) ? object : "{}";
}

// The invoke is complete once its closing tag has begun; the rest of the tag is always the same.
void OutputParser::close_call() {
  PromptSegments segments;
  if (tokenizer_ == nullptr) {
    segments.text_with_tokens(invoke_, {kDsml});
  } else {
    for (std::string_view rest = invoke_; !rest.empty();) {
      const std::size_t marker = std::min(rest.find_first_of("\xFE\xFF"), rest.size());
      segments.text(rest.substr(0, marker));
      if (marker < rest.size()) segments.token(rest[marker] == kDsmlByte ? kDsml : kThinkEnd);
      rest.remove_prefix(std::min(marker + 1, rest.size()));
    }
  }
  segments.text(" invoke>");
  call_segments_.push_back(std::move(segments));
}

// The key with its quotes, up to a blank outside quotes.
bool OutputParser::step_key(std::string_view& input) {
  std::size_t end = 0;
  while (end < input.size() && (key_in_quotes_ || input[end] != ' ')) {
    if (input[end] == '"') key_in_quotes_ = !key_in_quotes_;
    ++end;
  }
  emit_arguments(expand(input.substr(0, end)));
  if (end == input.size()) {
    input = {};
    return false;
  }
  input.remove_prefix(end + 1);
  emit_arguments(": ");
  state_ = State::kType;
  return true;
}

bool OutputParser::step_type(std::string_view& input) {
  const Scan found = scan(input, {kStringTrue, kStringFalse});
  drop(found.at);
  input.remove_prefix(found.at);
  if (found.pattern < 0) return false;
  string_value_ = found.pattern == 0;
  input.remove_prefix(string_value_ ? kStringTrue.size() : kStringFalse.size());
  if (string_value_) emit_arguments("\"");
  value_.clear();
  state_ = State::kValue;
  return true;
}

bool OutputParser::step_value(std::string_view& input) {
  const Scan found = scan(input, {patterns_.close});
  add_value(expand(input.substr(0, found.at)));
  input.remove_prefix(found.at);
  if (found.pattern < 0) return false;
  input.remove_prefix(patterns_.close.size());
  if (string_value_) {
    emit_arguments("\"");
  } else if (!base::parse_json(value_)) {
    ++invalid_values_;
  }
  state_ = State::kCall;
  return true;
}

void OutputParser::add_value(std::string_view text) {
  if (!string_value_) {
    value_ += text;
    return emit_arguments(text);
  }
  std::string escaped;
  append_json_escaped(escaped, text);
  emit_arguments(escaped);
}

bool OutputParser::step_done(std::string_view& input) {
  drop(input.size());
  input = {};
  return false;
}

// What is held when the input ends belongs to the state it was held in.
void OutputParser::flush_held() {
  const std::string rest = std::exchange(held_, {});
  switch (state_) {
    case State::kReasoning:
    case State::kContent:
      add_text(rest);
      release_newlines();
      break;
    case State::kValue: add_value(expand(rest)); break;
    default: drop(rest.size());
  }
}

void OutputParser::add_text(std::string_view text) {
  if (skip_newlines_) {
    const std::size_t first = std::min(text.find_first_not_of('\n'), text.size());
    text.remove_prefix(first);
    skip_newlines_ = text.empty();
  }
  if (text.empty()) return;
  const std::size_t last = text.find_last_not_of('\n');
  const std::size_t body = last == std::string_view::npos ? 0 : last + 1;
  if (body > 0) {
    release_newlines();
    add_shown(expand(text.substr(0, body)));
  }
  pending_newlines_ += static_cast<std::int64_t>(text.size() - body);
}

void OutputParser::release_newlines() {
  if (pending_newlines_ == 0) return;
  add_shown(std::string(static_cast<std::size_t>(std::exchange(pending_newlines_, 0)), '\n'));
}

void OutputParser::add_shown(const std::string& text) {
  if (state_ != State::kReasoning) {
    content_ += text;
    return;
  }
  emit(ParseEvent::Kind::kReasoning, text);
  if (reasoning_fallback_) unclosed_reasoning_ += text;
}

void OutputParser::emit(ParseEvent::Kind kind, std::string_view text) {
  if (text.empty()) return;
  const std::int64_t index = kind == ParseEvent::Kind::kArguments ? calls_ - 1 : 0;
  if (!events_.empty() && events_.back().kind == kind && events_.back().index == index) {
    events_.back().text += text;
  } else {
    events_.push_back({kind, index, std::string(text)});
  }
}

void OutputParser::flush_content() {
  if (content_.empty()) return;
  std::string text = std::exchange(content_, {});
  if (json_output_) text = json_filter_.push(text);
  const StopScanner::Output output = stops_.push(text);
  emit(ParseEvent::Kind::kContent, output.text);
  if (!output.stopped) return;
  finished_ = true;
  events_.push_back({ParseEvent::Kind::kFinish, 0, "stop"});
}

void OutputParser::flush_filters() {
  if (json_output_) {
    const StopScanner::Output output = stops_.push(json_filter_.flush());
    emit(ParseEvent::Kind::kContent, output.text);
    if (output.stopped) {
      finished_ = true;
      events_.push_back({ParseEvent::Kind::kFinish, 0, "stop"});
      return;
    }
  }
  emit(ParseEvent::Kind::kContent, stops_.flush());
}

std::string OutputParser::expand(std::string_view text) const {
  std::string out;
  if (tokenizer_ == nullptr) return std::string(text);
  for (const char c : text) {
    if (c == kThinkEndByte) {
      out += kThinkEnd;
    } else if (c == kDsmlByte) {
      out += kDsml;
    } else {
      out += c;
    }
  }
  return out;
}

// After a stop string nothing follows the finish event, whatever the rest of the chunk held.
std::vector<ParseEvent> OutputParser::take_events() {
  if (finished_) {
    const auto is_finish = [](const ParseEvent& event) { return event.kind == ParseEvent::Kind::kFinish; };
    const auto finish = std::find_if(events_.begin(), events_.end(), is_finish);
    if (finish != events_.end()) events_.erase(finish + 1, events_.end());
  }
  return std::exchange(events_, {});
}

void accumulate(ParsedCompletion& completion, const std::vector<ParseEvent>& events) {
  for (const ParseEvent& event : events) {
    switch (event.kind) {
      case ParseEvent::Kind::kReasoning: completion.reasoning += event.text; break;
      case ParseEvent::Kind::kContent: completion.content += event.text; break;
      case ParseEvent::Kind::kCall: completion.tool_calls.push_back({event.text, ""}); break;
      case ParseEvent::Kind::kArguments:
        completion.tool_calls[static_cast<std::size_t>(event.index)].arguments += event.text;
        break;
      case ParseEvent::Kind::kFinish: completion.finish_reason = event.text; break;
    }
  }
}

ParsedCompletion parse_completion(std::string_view text, std::string_view finish, const ParsingOptions& options) {
  ParsedCompletion completion;
  OutputParser parser(options);
  accumulate(completion, parser.push_text(text));
  accumulate(completion, parser.finish(finish));
  return completion;
}

}  // namespace deepinfer::prompt
