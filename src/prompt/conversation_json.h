// Conversations given directly as JSON, without a request around them.
//
// {messages, thinking_mode, tools, tool_choice, reasoning_effort, response_format, response_schema, response_regex,
// drop_thinking}. `thinking_mode` is a boolean (recipe rules) or "thinking" / "chat" (checkpoint rules).
// Source: tests/golden/encoding/README.md (`conversations`, `release_messages`), tokenizer-and-prompts.md 2.
#pragma once

#include "base/json.h"
#include "deepinfer/status.h"
#include "prompt/messages.h"

namespace deepinfer::prompt {

/// Errors: request_error.h; unknown roles, modes and efforts, two formats at once, fields of a wrong type.
Result<Conversation> read_conversation(const base::Json& json, Rules rules);

}  // namespace deepinfer::prompt
