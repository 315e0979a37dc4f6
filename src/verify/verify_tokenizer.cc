#include "verify/verify_tokenizer.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"
#include "base/io.h"
#include "base/json.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/fold_map.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace deepinfer::verify {
namespace {

using base::Json;
using tokenizer::DecodeMode;
using tokenizer::SpecialMode;
using tokenizer::TokenId;
using tokenizer::Tokenizer;
using Ids = std::vector<TokenId>;

/// Number of differing elements of one case, and the first of them in words.
struct Difference {
  double count = 0;
  std::string detail;

  void note(double more, std::string text) {
    if (more > 0 && count == 0) detail = std::move(text);
    count += more;
  }
};

/// One case: its `input` and `expected` members.
struct Vector {
  const Json& input;
  const Json& expected;
};
using Check = std::function<Result<Difference>(const Vector&)>;

// ---- reading ----

Result<const Json*> member(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  if (value == nullptr) return errorf(ErrorCode::kDataCorruption, "member \"{}\" is missing", key);
  return value;
}

Result<std::string> text_of(const Json& object, std::string_view key) {
  DI_ASSIGN(const Json* value, member(object, key));
  if (!value->is_string()) return errorf(ErrorCode::kDataCorruption, "\"{}\" is a {}", key, value->type_name());
  return value->string();
}

Result<std::int64_t> integer_of(const Json& object, std::string_view key) {
  DI_ASSIGN(const Json* value, member(object, key));
  const auto number = value->as_int();
  if (!number) return errorf(ErrorCode::kDataCorruption, "\"{}\" is no integer", key);
  return *number;
}

Result<const Json::Array*> array_of(const Json& object, std::string_view key) {
  DI_ASSIGN(const Json* value, member(object, key));
  if (!value->is_array()) return errorf(ErrorCode::kDataCorruption, "\"{}\" is a {}", key, value->type_name());
  return &value->items();
}

Result<Ids> ids_of(const Json& object, std::string_view key) {
  DI_ASSIGN(const Json::Array* items, array_of(object, key));
  Ids ids;
  for (const Json& item : *items) {
    const auto id = item.as_int();
    if (!id) return errorf(ErrorCode::kDataCorruption, "\"{}\" holds something that is no integer", key);
    ids.push_back(static_cast<TokenId>(*id));
  }
  return ids;
}

// ---- comparing ----

template <typename T>
Difference compare_lists(std::span<const T> expected, std::span<const T> found, std::string_view what) {
  const std::size_t common = std::min(expected.size(), found.size());
  const std::size_t longest = std::max(expected.size(), found.size());
  Difference out;
  for (std::size_t i = 0; i < common; ++i) {
    if (expected[i] != found[i]) {
      out.note(1, fmt::format("{}[{}] is {}, expected {}", what, i, found[i], expected[i]));
    }
  }
  out.note(static_cast<double>(longest - common),
           fmt::format("{} elements of {}, expected {}", found.size(), what, expected.size()));
  return out;
}

Difference compare_ids(const Ids& expected, const Ids& found, std::string_view what) {
  return compare_lists<TokenId>(expected, found, what);
}

Difference compare_text(std::string_view expected, std::string_view found, std::string_view what) {
  if (expected == found) return {};
  return {1, fmt::format("{} is {}, expected {}", what, base::dump_json(Json(found), {.ascii_only = true}),
                         base::dump_json(Json(expected), {.ascii_only = true}))};
}

void merge(Difference& into, const Difference& more) { into.note(more.count, more.detail); }

std::string hex_of(std::string_view bytes) {
  std::string out;
  for (const char byte : bytes) out += fmt::format("{:02x}", static_cast<std::uint8_t>(byte));
  return out;
}

std::string little_endian(std::span<const std::int32_t> values) {
  std::string out;
  out.reserve(values.size() * 4);
  for (const std::int32_t value : values) {
    for (int shift = 0; shift < 32; shift += 8) {
      out.push_back(static_cast<char>((static_cast<std::uint32_t>(value) >> shift) & 0xFF));
    }
  }
  return out;
}

// ---- the checks of one case ----

Result<Difference> check_encode(const Tokenizer& tokenizer, const Vector& vector) {
  DI_ASSIGN(const std::string text, text_of(vector.input, "text"));
  DI_ASSIGN(const Ids expected, ids_of(vector.expected, "ids"));
  DI_ASSIGN(const Ids found, tokenizer.encode(text, SpecialMode::kText));
  Difference out = compare_ids(expected, found, "ids");
  DI_ASSIGN(const std::string back, tokenizer.decode_bytes(found));
  merge(out, compare_text(text, back, "decoded text"));
  if (vector.expected.find("ids_with_markers") != nullptr) {
    DI_ASSIGN(const Ids expected_parsed, ids_of(vector.expected, "ids_with_markers"));
    DI_ASSIGN(const Ids parsed, tokenizer.encode(text, SpecialMode::kParse));
    merge(out, compare_ids(expected_parsed, parsed, "ids_with_markers"));
  }
  return out;
}

Result<Difference> check_encode_long(const Tokenizer& tokenizer, const Vector& vector) {
  DI_ASSIGN(const std::string unit, text_of(vector.input, "unit"));
  DI_ASSIGN(const std::int64_t times, integer_of(vector.input, "times"));
  DI_ASSIGN(const std::int64_t count, integer_of(vector.expected, "count"));
  DI_ASSIGN(const std::string digest, text_of(vector.expected, "sha256"));
  std::string text;
  for (std::int64_t i = 0; i < times; ++i) text += unit;
  DI_ASSIGN(const Ids found, tokenizer.encode(text, SpecialMode::kText));
  Difference out;
  if (std::ssize(found) != count) out.note(1, fmt::format("{} ids, expected {}", found.size(), count));
  merge(out, compare_text(digest, base::sha256_hex(little_endian(found)), "SHA-256 of the ids"));
  return out;
}

/// Pieces as code point ranges [begin, end), flattened.
std::vector<std::int64_t> spans_of(const std::string& text, const std::vector<tokenizer::Piece>& pieces) {
  std::vector<std::int64_t> out;
  std::int64_t at = 0;
  for (const tokenizer::Piece piece : pieces) {
    out.push_back(at);
    for (std::size_t byte = piece.begin; byte < piece.end; ++at) byte += tokenizer::decode_utf8_at(text, byte).length;
    out.push_back(at);
  }
  return out;
}

Result<Difference> check_pretokenize(const Tokenizer& tokenizer, const Vector& vector) {
  DI_ASSIGN(const std::string text, text_of(vector.input, "text"));
  DI_ASSIGN(const Json::Array* spans, array_of(vector.expected, "spans"));
  std::vector<std::int64_t> expected;
  for (const Json& span : *spans) {
    if (!span.is_array() || span.items().size() != 2) return errorf(ErrorCode::kDataCorruption, "a span is no pair");
    for (const Json& end : span.items()) expected.push_back(end.as_int().value_or(-1));
  }
  return compare_lists<std::int64_t>(expected, spans_of(text, tokenizer.pre_tokenizer().split(text)), "span ends");
}

Result<Difference> check_decode(const Tokenizer& tokenizer, const Vector& vector) {
  DI_ASSIGN(const Ids ids, ids_of(vector.input, "ids"));
  DI_ASSIGN(const std::string bytes, text_of(vector.expected, "bytes"));
  DI_ASSIGN(const std::string text, text_of(vector.expected, "text"));
  std::string plain = text;
  if (vector.expected.find("text_without_special") != nullptr) {
    DI_ASSIGN(plain, text_of(vector.expected, "text_without_special"));
  }
  DI_ASSIGN(const std::string found_bytes, tokenizer.decode_bytes(ids));
  DI_ASSIGN(const std::string found_text, tokenizer.decode(ids));
  DI_ASSIGN(const std::string found_plain, tokenizer.decode(ids, DecodeMode::kWithoutSpecial));
  Difference out = compare_text(bytes, hex_of(found_bytes), "bytes");
  merge(out, compare_text(text, found_text, "text"));
  merge(out, compare_text(plain, found_plain, "text without special"));
  return out;
}

Result<Difference> check_stream(const Tokenizer& tokenizer, const Vector& vector) {
  DI_ASSIGN(const Ids ids, ids_of(vector.input, "ids"));
  DI_ASSIGN(const Json::Array* pieces, array_of(vector.expected, "pieces"));
  DI_ASSIGN(const std::string end, text_of(vector.expected, "end"));
  if (pieces->size() != ids.size()) {
    return errorf(ErrorCode::kDataCorruption, "{} pieces for {} ids", pieces->size(), ids.size());
  }
  tokenizer::Detokenizer stream(tokenizer);
  Difference out;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    DI_ASSIGN(const std::string found, stream.push(ids[i]));
    const Json& expected = (*pieces)[i];
    if (!expected.is_string()) return errorf(ErrorCode::kDataCorruption, "piece {} is a {}", i, expected.type_name());
    merge(out, compare_text(expected.string(), found, fmt::format("piece {}", i)));
  }
  merge(out, compare_text(end, stream.finish(), "end"));
  return out;
}

Result<Difference> check_fold(const Vector& vector) {
  DI_ASSIGN(const std::string text, text_of(vector.input, "text"));
  DI_ASSIGN(const std::string folded, text_of(vector.expected, "folded"));
  return compare_text(folded, tokenizer::fold_text(text), "folded");
}

// ---- running ----

CaseRow row_of(std::string op, std::string name, Difference difference) {
  const auto outcome = difference.count > 0 ? CaseRow::Outcome::kFail : CaseRow::Outcome::kPass;
  return {std::move(op), std::move(name), difference.count, 0, outcome, std::move(difference.detail)};
}

CaseRow skipped_row(std::string op, std::string name) {
  return {std::move(op), std::move(name), 0, 0, CaseRow::Outcome::kSkip, "needs the released tokenizer.json"};
}

Result<CaseRow> run_case(const std::string& op, std::string_view line, const Check& check) {
  DI_ASSIGN(const Json vector, base::parse_json(line));
  DI_ASSIGN(std::string name, text_of(vector, "id"));
  if (!check) return skipped_row(op, std::move(name));
  DI_ASSIGN(const Json* input, member(vector, "input"));
  DI_ASSIGN(const Json* expected, member(vector, "expected"));
  DI_ASSIGN(Difference difference, check({*input, *expected}));
  return row_of(op, std::move(name), std::move(difference));
}

/// Runs `check` on every line of <dir>/<op>.jsonl; an empty check skips the cases.
Status run_file(const std::string& dir, const std::string& op, const Check& check, Report& report) {
  const std::string path = dir + "/" + op + ".jsonl";
  DI_ASSIGN(const std::string content, base::read_file(path));
  std::string_view rest = content;
  for (int line_number = 1; !rest.empty(); ++line_number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
    if (line.empty()) continue;
    auto row = run_case(op, line, check);
    if (!row) return with_context(std::move(row).error(), fmt::format("{}:{}", path, line_number));
    report.add(std::move(*row));
  }
  return {};
}

Result<Json> read_json(const std::string& path) {
  DI_ASSIGN(const std::string content, base::read_file(path));
  auto value = base::parse_json(content);
  if (!value) return with_context(std::move(value).error(), path);
  return value;
}

/// The literals and flags of all added tokens against added_tokens.json.
Result<Difference> check_added_tokens(const std::string& dir, const Tokenizer& tokenizer) {
  DI_ASSIGN(const Json list, read_json(dir + "/added_tokens.json"));
  if (!list.is_array()) return errorf(ErrorCode::kDataCorruption, "added_tokens.json is a {}", list.type_name());
  Difference out;
  for (const Json& entry : list.items()) {
    DI_ASSIGN(const std::int64_t id, integer_of(entry, "id"));
    DI_ASSIGN(const std::string literal, text_of(entry, "text"));
    DI_ASSIGN(const Json* special, member(entry, "special"));
    const auto found = tokenizer.token_to_id(literal);
    const bool same = found && *found == id && tokenizer.is_special(*found) == (*special == Json(true));
    out.note(same ? 0 : 1,
             fmt::format("id {} is not \"{}\" with special = {}", id, literal, base::dump_json(*special)));
  }
  const auto count = tokenizer.added_tokens().size();
  const auto wanted = list.items().size();
  if (count != wanted) out.note(1, fmt::format("{} added tokens, expected {}", count, wanted));
  return out;
}

/// The counts of token_classes.json, by name.
Result<std::map<std::string, std::int64_t>> class_facts(const Tokenizer& tokenizer,
                                                        std::span<const std::int32_t> map) {
  std::map<std::int32_t, std::int64_t> sizes;
  std::int64_t partial = 0;
  for (TokenId id = 0; id < std::ssize(map); ++id) {
    ++sizes[map[static_cast<std::size_t>(id)]];
    DI_ASSIGN(const std::string text, tokenizer.decode({&id, 1}));
    if (text.find(tokenizer::kReplacement) != std::string::npos) ++partial;
  }
  std::int64_t several = 0;
  std::int64_t largest = 0;
  for (const auto& [token_class, size] : sizes) {
    several += size > 1 ? 1 : 0;
    largest = std::max(largest, size);
  }
  return std::map<std::string, std::int64_t>{{"ids", std::ssize(map)},
                                             {"classes", std::ssize(sizes)},
                                             {"classes_with_several_ids", several},
                                             {"largest_class", largest},
                                             {"partial_utf8_ids", partial}};
}

Result<Difference> check_class_facts(const std::string& dir, const Tokenizer& tokenizer,
                                     std::span<const std::int32_t> map) {
  DI_ASSIGN(const Json facts, read_json(dir + "/token_classes.json"));
  DI_ASSIGN(const auto found_facts, class_facts(tokenizer, map));
  Difference out;
  for (const auto& [name, found] : found_facts) {
    DI_ASSIGN(const std::int64_t expected, integer_of(facts, name));
    if (found != expected) out.note(1, fmt::format("{} is {}, expected {}", name, found, expected));
  }
  DI_ASSIGN(const std::string digest, text_of(facts, "sha256_le_u32"));
  merge(out, compare_text(digest, base::sha256_hex(little_endian(map)), "SHA-256 of the map"));
  return out;
}

Result<Difference> check_class_map(const std::string& dir, std::span<const std::int32_t> map) {
  DI_ASSIGN(const std::string expected, base::read_file(dir + "/token_classes.u32"));
  const std::string found = little_endian(map);
  if (expected.size() != found.size()) {
    return Difference{1, fmt::format("map has {} bytes, expected {}", found.size(), expected.size())};
  }
  Difference out;
  for (std::size_t i = 0; i < found.size(); i += 4) {
    const bool same = found.compare(i, 4, expected, i, 4) == 0;
    out.note(same ? 0 : 1, fmt::format("class of id {} is {}", i / 4, map[i / 4]));
  }
  return out;
}

/// Rows about the vocabulary as a whole.
Status run_vocabulary(const std::string& dir, const std::optional<Tokenizer>& released, Report& report) {
  if (!released) {
    report.add(skipped_row("added_tokens", "added_tokens.json"));
    report.add(skipped_row("token_classes", "token_classes.json"));
    report.add(skipped_row("token_classes", "token_classes.u32"));
    return {};
  }
  const std::vector<std::int32_t> map = tokenizer::fold_map(*released);
  DI_ASSIGN(Difference added, check_added_tokens(dir, *released));
  DI_ASSIGN(Difference facts, check_class_facts(dir, *released, map));
  DI_ASSIGN(Difference classes, check_class_map(dir, map));
  report.add(row_of("added_tokens", "added_tokens.json", std::move(added)));
  report.add(row_of("token_classes", "token_classes.json", std::move(facts)));
  report.add(row_of("token_classes", "token_classes.u32", std::move(classes)));
  return {};
}

}  // namespace

Result<Report> verify_tokenizer(const std::string& dir, const std::optional<std::string>& tokenizer_file) {
  DI_ASSIGN(const Tokenizer tiny, Tokenizer::from_file(dir + "/tiny_tokenizer.json"));
  std::optional<Tokenizer> released;
  if (tokenizer_file) {
    DI_ASSIGN(released, Tokenizer::from_file(*tokenizer_file));
  }
  const auto with = [](const Tokenizer& tokenizer, auto check) -> Check {
    return [&tokenizer, check](const Vector& vector) { return check(tokenizer, vector); };
  };
  const auto if_released = [&](auto check) -> Check { return released ? with(*released, check) : Check(); };
  Report report;
  DI_TRY(run_file(dir, "encode", if_released(check_encode), report));
  DI_TRY(run_file(dir, "encode_long", if_released(check_encode_long), report));
  // The tiny file has the released pre-tokenizer; these vectors need no vocabulary.
  DI_TRY(run_file(dir, "pretokenize", with(released ? *released : tiny, check_pretokenize), report));
  DI_TRY(run_file(dir, "decode", if_released(check_decode), report));
  DI_TRY(run_file(dir, "stream", if_released(check_stream), report));
  DI_TRY(run_file(dir, "fold", check_fold, report));
  DI_TRY(run_file(dir, "tiny_encode", with(tiny, check_encode), report));
  DI_TRY(run_vocabulary(dir, released, report));
  return report;
}

}  // namespace deepinfer::verify
