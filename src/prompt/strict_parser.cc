#include "prompt/strict_parser.h"

#include <fmt/format.h>

#include <string>
#include <unordered_set>

#include "base/error.h"
#include "prompt/python_json.h"
#include "prompt/request_error.h"
#include "prompt/structure_tokens.h"

namespace deepinfer::prompt {
namespace {

tl::unexpected<Error> refuse(std::string_view kind, std::string message) {
  return request_error(kind, "completion", std::move(message));
}

std::string tag(std::string_view open, std::string_view rest) { return fmt::format("{}{} {}", open, kDsml, rest); }

class StrictParser {
 public:
  explicit StrictParser(std::string_view text) : text_(text) {
    if (text_.find(kEndOfSentence) == std::string::npos) text_ += kEndOfSentence;
    rest_ = text_;
  }

  Result<ParsedCompletion> run(bool reasoning) {
    if (reasoning) DI_TRY(read_reasoning());
    DI_TRY(read_content());
    if (in_calls_) DI_TRY(read_calls());
    if (!take(kEndOfSentence) || !rest_.empty()) {
      return refuse(in_calls_ ? "content_after_calls" : "content_at_end", "text after the end of the completion");
    }
    out_.finish_reason = out_.tool_calls.empty() ? "stop" : "tool_calls";
    return std::move(out_);
  }

 private:
  const std::string calls_start_ = "\n\n" + tag("<", "calls>");
  const std::string calls_end_ = tag("</", "calls>");
  const std::string invoke_start_ = tag("<", "invoke name=\"");
  const std::string invoke_end_ = tag("</", "invoke>");
  const std::string parameter_start_ = tag("<", "parameter name=\"");
  const std::string parameter_end_ = tag("</", "parameter>");

  bool take(std::string_view prefix) {
    if (!rest_.starts_with(prefix)) return false;
    rest_.remove_prefix(prefix.size());
    return true;
  }
  // Text up to `end`, which is consumed; nothing if `end` does not occur.
  std::optional<std::string_view> take_until(std::string_view end) {
    const std::size_t at = rest_.find(end);
    if (at == std::string_view::npos) return std::nullopt;
    const std::string_view out = rest_.substr(0, at);
    rest_.remove_prefix(at + end.size());
    return out;
  }

  static Status check_plain(std::string_view text) {
    for (const std::string_view marker : {kBeginOfSentence, kEndOfSentence, kThinkStart, kThinkEnd, kDsml}) {
      if (text.find(marker) != std::string_view::npos) {
        return refuse("special_token_in_text", fmt::format("{} inside text", marker));
      }
    }
    return {};
  }

  Status read_reasoning() {
    const std::size_t end = std::min(rest_.find(kEndOfSentence), rest_.find(calls_start_));
    const std::size_t at = rest_.find(kThinkEnd);
    if (at > end) return refuse("missing_think_end", fmt::format("the reasoning is not closed by {}", kThinkEnd));
    out_.reasoning = *take_until(kThinkEnd);
    return check_plain(out_.reasoning);
  }

  Status read_content() {
    const std::size_t end = rest_.find(kEndOfSentence);
    const std::size_t calls = rest_.find(calls_start_);
    in_calls_ = calls < end;
    out_.content = rest_.substr(0, in_calls_ ? calls : end);
    rest_.remove_prefix(out_.content.size());
    if (in_calls_) take(calls_start_);
    return check_plain(out_.content);
  }

  Status read_calls() {
    do {
      if (!take("\n")) return refuse("call_separator", "no newline before an invoke");
      DI_TRY(read_invoke());
      if (rest_.starts_with("\n" + calls_end_)) break;
    } while (true);
    rest_.remove_prefix(1 + calls_end_.size());
    return {};
  }

  Status read_invoke() {
    if (!rest_.starts_with(invoke_start_)) {
      const bool other_name = rest_.starts_with(tag("<", "invoke"));
      return refuse(other_name ? "tool_name" : "call_separator", "no invoke tag where one is expected");
    }
    take(invoke_start_);
    const auto name = take_until("\">\n");
    if (!name) return refuse("tool_name", "the invoke tag does not end its line");
    ParsedCall call{std::string(*name), ""};
    if (!take(invoke_end_) && !take("\n" + invoke_end_)) {
      DI_TRY(read_parameters(call.arguments));
    }
    call.arguments = "{" + call.arguments + "}";
    out_.tool_calls.push_back(std::move(call));
    return {};
  }

  // parameter *(LF parameter) LF </invoke>
  Status read_parameters(std::string& arguments) {
    std::unordered_set<std::string> keys;
    do {
      DI_TRY(read_parameter(arguments, keys));
      if (!take("\n")) return refuse("parameter_separator", "no newline after a parameter");
      if (!rest_.starts_with(parameter_start_) && !rest_.starts_with(invoke_end_)) {
        return refuse("parameter_separator", "neither a parameter nor the end of the invoke");
      }
    } while (!take(invoke_end_));
    return {};
  }

  Status read_parameter(std::string& arguments, std::unordered_set<std::string>& keys) {
    if (!take(parameter_start_)) return refuse("parameter", "no parameter tag where one is expected");
    const auto key = take_until("\" string=\"");
    if (!key) return refuse("parameter", "the parameter tag has no string attribute");
    const bool is_string = take("true\">");
    if (!is_string && !take("false\">")) return refuse("parameter", "the string attribute is neither true nor false");
    const auto value = take_until(parameter_end_);
    if (!value) return refuse("parameter", "the parameter is not closed");
    if (!keys.emplace(*key).second) return refuse("duplicate_parameter", fmt::format("\"{}\" is repeated", *key));
    if (!arguments.empty()) arguments += ", ";
    arguments += '"';
    append_json_escaped(arguments, *key);
    arguments += "\": ";
    if (!is_string) {
      arguments += *value;
      return {};
    }
    arguments += '"';
    append_json_escaped(arguments, *value);
    arguments += '"';
    return {};
  }

  std::string text_;
  std::string_view rest_;
  bool in_calls_ = false;
  ParsedCompletion out_;
};

}  // namespace

Result<ParsedCompletion> parse_strict(std::string_view text, std::optional<InitialStage> stage) {
  return StrictParser(text).run(stage == InitialStage::kReasoningStart);
}

}  // namespace deepinfer::prompt
