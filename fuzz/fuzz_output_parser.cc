// Text and split points: any split gives the same completion as one chunk, events only grow, and nothing visible is
// lost. Input: option byte, seed byte, text.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "prompt/output_parser.h"
#include "prompt/strict_parser.h"
#include "tokenizer/utf8.h"

namespace {

using namespace deepinfer::prompt;

void require(bool condition) {
  if (!condition) std::abort();
}

ParsingOptions options_of(std::uint8_t bits) {
  ParsingOptions options;
  options.parse_tool_calls = (bits & 1) != 0;
  options.starts_in_tool_calls = (bits & 14) == 14;
  if ((bits & 2) != 0) options.initial_stage = static_cast<InitialStage>((bits >> 2) % 3);
  if ((bits & 16) != 0) options.stop_sequences = {"STOP", "\n\n", "</"};
  options.accept_json_invoke = (bits & 32) != 0;
  options.reasoning_fallback = (bits & 64) != 0;
  return options;
}

bool same_but_calls_may_grow(const ParsedCompletion& part, const ParsedCompletion& whole) {
  return whole.reasoning.starts_with(part.reasoning) && whole.content.starts_with(part.content) &&
         part.tool_calls.size() <= whole.tool_calls.size();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  std::string text;
  deepinfer::tokenizer::Utf8Filter filter;
  const std::string bytes(data + 2, data + size);
  filter.push(bytes, text);
  filter.finish(text);

  ParsingOptions options = options_of(data[0]);
  if ((data[0] & 128) != 0) {  // the number of spaces depends on the chunks, so there is nothing to compare
    options.parse_json_output = true;
    static_cast<void>(parse_completion(text, "stop", options));
    return 0;
  }
  const ParsedCompletion whole = parse_completion(text, "stop", options);
  ParsedCompletion part;
  OutputParser parser(options);
  std::uint32_t state = data[1];
  for (std::size_t at = 0; at < text.size();) {
    state = state * 1664525U + 1013904223U;
    std::size_t end = at + 1 + (state >> 24) % 9;
    while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
    end = end < text.size() ? end : text.size();
    accumulate(part, parser.push_text(std::string_view(text).substr(at, end - at)));
    require(same_but_calls_may_grow(part, whole));
    at = end;
  }
  accumulate(part, parser.finish("stop"));
  require(part == whole);

  // Without block patterns, stop strings and dropped markers the text comes out whole, leading newlines aside.
  if (!options.parse_tool_calls && !options.starts_in_tool_calls && options.stop_sequences.empty() &&
      !options.initial_stage && text.find("</think>") == std::string::npos) {
    const std::size_t first = text.find_first_not_of('\n');
    require(whole.content == (first == std::string::npos ? "" : text.substr(first)));
  }
  const auto strict = parse_strict(text, options.initial_stage);
  if (strict) require(strict->content.find("<think>") == std::string::npos);
  return 0;
}
