// The strict parser: a whole completion that follows the grammar exactly, or a refusal.
//
// For tests and for `--strict-tools`. Source: tokenizer-and-prompts.md 5.2.
#pragma once

#include <optional>
#include <string_view>

#include "deepinfer/status.h"
#include "prompt/output_parser.h"

namespace deepinfer::prompt {

/// `finish_reason` of the result is "tool_calls" with calls, else "stop". A reasoning part is expected exactly for
/// kReasoningStart. An end token is appended if the text has none.
/// Errors: kInvalidArgument, kind (request_error.h) one of missing_think_end, special_token_in_text, content_at_end,
/// content_after_calls, call_separator, tool_name, parameter, parameter_separator, duplicate_parameter.
Result<ParsedCompletion> parse_strict(std::string_view text, std::optional<InitialStage> stage);

}  // namespace deepinfer::prompt
