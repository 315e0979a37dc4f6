// Inputs of commands: bundled folders, token id lists, JSON files and JSON Lines.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environ.h"
#include "base/json.h"
#include "deepinfer/status.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::cli {

/// A folder that comes with the program, such as "models/tiny-chat" or "tests/golden/kernels": below
/// DEEPINFER_DATA_DIR, beside the program's parent folder, in its share folder, or in the source tree it was built
/// from. Errors: kNotFound naming the places.
Result<std::string> bundled_folder(const base::Environ& env, const std::string& relative);

/// "1,2,3" to ids. UsageError for anything that is no list of integers.
std::vector<std::int32_t> parse_ids(std::string_view text);
/// A JSON list of ids. Errors: kInvalidArgument naming `name` and the entry.
Result<std::vector<std::int32_t>> read_ids(const base::Json& list, const std::string& name);
/// Errors: kInvalidArgument naming position, id and range.
Status check_ids(const std::vector<std::int32_t>& ids, std::int64_t vocab_size, const std::string& name);

/// Reads a JSON file; "-" is standard input. Errors: those of reading; kInvalidArgument with the path.
Result<base::Json> read_json_file(const std::string& path);
/// A text file or, with "-", standard input. Errors also: invalid UTF-8, naming the byte offset.
Result<std::string> read_text_file(const std::string& path);

/// Calls `fn` for every non-empty line of a JSON Lines file ("-" or "" = standard input) and prints what it returns as
/// one line each. The first error ends the work; it names the file and the line number.
Status map_json_lines(const std::string& path, const std::function<Result<base::Json>(const base::Json&)>& fn);

/// Refuses top-level fields that no request form and no conversation has, so that a misspelt one is not lost.
/// Errors: kInvalidArgument naming the field, near names and the accepted ones.
Status check_request_fields(const base::Json& request);

/// tokenizer.json of a folder, or the file itself.
Result<tokenizer::Tokenizer> load_tokenizer(const std::string& path);

}  // namespace deepinfer::cli
