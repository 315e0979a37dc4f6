#include "inputs.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "arguments.h"
#include "base/error.h"
#include "base/io.h"
#include "terminal.h"
#include "tokenizer/utf8.h"

namespace deepinfer::cli {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> bundle_roots(const base::Environ& env) {
  std::vector<fs::path> roots;
  if (const std::string dir = env.get("DATA_DIR"); !dir.empty()) roots.emplace_back(dir);
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  if (!program.empty()) {
    roots.push_back(program.parent_path().parent_path());
    roots.push_back(program.parent_path().parent_path() / "share/deepinfer");
  }
  roots.emplace_back(DEEPINFER_SOURCE_DIR);
  return roots;
}

// Streams report a failed read (standard input closed, or a folder) as an end; stdio underneath knows the difference.
Status check_standard_input() {
  if (std::ferror(stdin) == 0) return {};
  return errorf(ErrorCode::kNotFound, "standard input could not be read: {}", std::strerror(errno));
}

Result<std::string> read_stream() {
  std::string text(std::istreambuf_iterator<char>(std::cin), {});
  DI_TRY(check_standard_input());
  return text;
}

// A pipe (--prompt-file <(command)) or device, which cannot be mapped; as much as base::read_file accepts.
Result<std::string> read_pipe(const std::string& path) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  std::ifstream in(path, std::ios::binary);
  std::string text;
  std::vector<char> piece(std::size_t{1} << 16);
  while (in.read(piece.data(), std::ssize(piece)), in.gcount() > 0) {
    text.append(piece.data(), static_cast<std::size_t>(in.gcount()));
    if (text.size() > kMostBytes) {
      return errorf(ErrorCode::kResourceExhausted, "{} gives more than {} bytes", path, kMostBytes);
    }
  }
  if (in.eof()) return text;
  return errorf(ErrorCode::kNotFound, "cannot read {}: {}", path, std::strerror(errno));
}

Result<std::string> read_any(const std::string& path) {
  if (path == "-") return read_stream();
  std::error_code ignored;
  const fs::file_status status = fs::status(path, ignored);
  return fs::is_fifo(status) || fs::is_character_file(status) ? read_pipe(path) : base::read_file(path);
}

}  // namespace

Result<std::string> bundled_folder(const base::Environ& env, const std::string& relative) {
  std::string tried;
  for (const fs::path& root : bundle_roots(env)) {
    std::error_code ignored;
    if (fs::is_directory(root / relative, ignored)) return (root / relative).lexically_normal().string();
    tried += (tried.empty() ? "" : ", ") + (root / relative).string();
  }
  return errorf(ErrorCode::kNotFound, "{} was not found ({}); set DEEPINFER_DATA_DIR", relative, tried);
}

std::vector<std::int32_t> parse_ids(std::string_view text) {
  std::vector<std::int32_t> ids;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view word = text.substr(0, comma);
    while (word.starts_with(' ')) word.remove_prefix(1);
    while (word.ends_with(' ')) word.remove_suffix(1);
    ids.push_back(static_cast<std::int32_t>(parse_integer(word, INT32_MIN, INT32_MAX)));
    if (comma == text.size()) return ids;
    text.remove_prefix(comma + 1);
  }
}

Result<std::vector<std::int32_t>> read_ids(const base::Json& list, const std::string& name) {
  if (!list.is_array()) {
    return errorf(ErrorCode::kInvalidArgument, "{}: a list of token ids is expected, not {}", name, list.type_name());
  }
  std::vector<std::int32_t> ids;
  for (const base::Json& item : list.items()) {
    const auto id = item.as_int();
    if (!id || *id < INT32_MIN || *id > INT32_MAX) {
      return errorf(ErrorCode::kInvalidArgument, "{}: entry {} is {}, a token id is expected", name, ids.size(),
                    base::dump_json(item));
    }
    ids.push_back(static_cast<std::int32_t>(*id));
  }
  return ids;
}

Status check_ids(const std::vector<std::int32_t>& ids, std::int64_t vocab_size, const std::string& name) {
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab_size) {
      return errorf(ErrorCode::kInvalidArgument, "{}: token id {} at position {} is outside 0 .. {}", name, ids[i], i,
                    vocab_size - 1);
    }
  }
  return {};
}

Result<base::Json> read_json_file(const std::string& path) {
  DI_ASSIGN(const std::string text, read_any(path));
  auto parsed = base::parse_json(text);
  if (!parsed) return with_context(std::move(parsed).error(), path);
  return parsed;
}

Result<std::string> read_text_file(const std::string& path) {
  DI_ASSIGN(std::string text, read_any(path));
  if (const auto offset = tokenizer::find_invalid_utf8(text)) {
    return errorf(ErrorCode::kInvalidArgument, "{}: invalid UTF-8 at byte {}", path, *offset);
  }
  return text;
}

Status map_json_lines(const std::string& path, const std::function<Result<base::Json>(const base::Json&)>& fn) {
  const bool from_stdin = path.empty() || path == "-";
  std::string whole;
  if (!from_stdin) {
    DI_ASSIGN(whole, read_any(path));
  }
  std::size_t from = 0;
  std::string line;
  const auto next = [&]() -> bool {
    if (from_stdin) return static_cast<bool>(std::getline(std::cin, line));
    if (from >= whole.size()) return false;
    const std::size_t end = std::min(whole.find('\n', from), whole.size());
    line = whole.substr(from, end - from);
    from = end + 1;
    return true;
  };
  for (std::int64_t number = 1; next(); ++number) {
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string where = fmt::format("{} line {}", from_stdin ? "standard input" : path, number);
    auto parsed = base::parse_json(line);
    if (!parsed) return with_context(std::move(parsed).error(), where);
    auto made = fn(*parsed);
    if (!made) return with_context(std::move(made).error(), where);
    print_json(*made);
  }
  if (from_stdin) DI_TRY(check_standard_input());
  return {};
}

Status check_request_fields(const base::Json& request) {
  // Chat, Responses and Messages requests (server.md 5 to 8), then conversations given directly.
  static const std::vector<std::string> kKnown = {"model",
                                                  "messages",
                                                  "thinking",
                                                  "tools",
                                                  "tool_choice",
                                                  "reasoning_effort",
                                                  "response_format",
                                                  "temperature",
                                                  "top_p",
                                                  "top_k",
                                                  "min_p",
                                                  "stop",
                                                  "max_tokens",
                                                  "max_completion_tokens",
                                                  "logprobs",
                                                  "top_logprobs",
                                                  "n",
                                                  "seed",
                                                  "presence_penalty",
                                                  "frequency_penalty",
                                                  "stream",
                                                  "stream_options",
                                                  "user",
                                                  "metadata",
                                                  "parallel_tool_calls",
                                                  "input",
                                                  "instructions",
                                                  "reasoning",
                                                  "text",
                                                  "max_output_tokens",
                                                  "previous_response_id",
                                                  "store",
                                                  "include",
                                                  "system",
                                                  "stop_sequences",
                                                  "output_config",
                                                  "thinking_mode",
                                                  "drop_thinking",
                                                  "response_schema",
                                                  "response_regex",
                                                  "task"};
  if (!request.is_object()) return {};
  for (const auto& [key, value] : request.members()) {
    if (std::ranges::find(kKnown, key) != kKnown.end()) continue;
    const std::vector<std::string> near = near_names(key, kKnown);
    return errorf(ErrorCode::kInvalidArgument, "unknown field \"{}\" = {}{}; accepted: {}", key, base::dump_json(value),
                  near.empty() ? "" : "; near: " + join(near), join(kKnown));
  }
  return {};
}

Result<tokenizer::Tokenizer> load_tokenizer(const std::string& path) {
  std::error_code ignored;
  const bool folder = fs::is_directory(path, ignored);
  return tokenizer::Tokenizer::from_file(folder ? path + "/tokenizer.json" : path);
}

}  // namespace deepinfer::cli
