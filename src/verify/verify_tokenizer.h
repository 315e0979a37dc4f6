// `deepinfer verify tokenizer DIR`: runs the tokenizer vectors of a golden folder.
//
// Files read: encode, encode_long, pretokenize, decode, stream, fold, tiny_encode (.jsonl), tiny_tokenizer.json,
// added_tokens.json, token_classes.json and .u32. Source: cli.md, tests/golden/tokenizer/README.md.
#pragma once

#include <optional>
#include <string>

#include "deepinfer/status.h"
#include "verify/report.h"

namespace deepinfer::verify {

/// Checks every vector in `dir`, one row per case. `tokenizer_file` is a tokenizer.json with the released vocabulary
/// (the V4 file gets the V4.1 names); without it the vectors that need it are skipped and counted.
/// Errors: a file that cannot be read or is malformed; differences are rows, not errors.
Result<Report> verify_tokenizer(const std::string& dir, const std::optional<std::string>& tokenizer_file);

}  // namespace deepinfer::verify
