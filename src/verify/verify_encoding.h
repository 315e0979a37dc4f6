// `deepinfer verify encoding DIR`: runs the prompt and parse vectors of a golden folder.
//
// Files read: chat_requests, responses_requests, messages_requests, conversations, release_messages, token_limits,
// image_tokens, image_sizes, parse_text, parse_stream, parse_tokens (.jsonl). Requests go through the official profile.
// Source: cli.md, tests/golden/encoding/README.md.
#pragma once

#include <optional>
#include <string>

#include "deepinfer/status.h"
#include "verify/report.h"

namespace deepinfer::verify {

/// Checks every vector in `dir`: a row per case, and a row `<file>.ids` for the token ids of a prompt.
/// `tokenizer_file` is a tokenizer.json with the released vocabulary (the V4 file gets the V4.1 names); without it the
/// rows that need ids are skipped and counted.
/// Errors: a file that cannot be read or is malformed; differences are rows, not errors.
Result<Report> verify_encoding(const std::string& dir, const std::optional<std::string>& tokenizer_file);

}  // namespace deepinfer::verify
