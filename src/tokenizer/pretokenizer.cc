#include "tokenizer/pretokenizer.h"

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {
namespace {

constexpr std::string_view kNumbersRegex = R"(\p{N}{1,3})";
constexpr std::string_view kHanOrKanaRegex = "[\u4E00-\u9FA5\u3040-\u309F\u30A0-\u30FF]+";
constexpr std::string_view kWordsRegex =
    R"RE([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+)RE"
    "|[^\r\n\\p{L}\\p{P}\\p{S}]?[\\p{L}\\p{M}]+"
    "| ?[\\p{P}\\p{S}]+[\r\n]*"
    "|\\s*[\r\n]+"
    R"RE(|\s+(?!\S)|\s+)RE";

struct Char {
  std::uint32_t offset;
  CharClasses classes;
};

/// Character classes of one piece; a match is a number of characters from a position, 0 for none.
using Classes = std::span<const Char>;

bool has(Classes text, std::size_t at, int classes) {
  return at < text.size() && (text[at].classes & classes) != 0;
}

std::size_t run_end(Classes text, std::size_t at, int classes) {
  while (has(text, at, classes)) ++at;
  return at;
}

std::size_t match_numbers(Classes text, std::size_t at) {
  std::size_t end = at;
  while (end - at < 3 && has(text, end, kNumber)) ++end;
  return end - at;
}

std::size_t match_han_or_kana(Classes text, std::size_t at) { return run_end(text, at, kHanOrKana) - at; }

// \s*[\r\n]+ | \s+(?!\S) | \s+ at a white-space character.
std::size_t match_white_space(Classes text, std::size_t at) {
  const std::size_t end = run_end(text, at, kWhiteSpace);
  // \s* gives back only as much as [\r\n]+ needs: the match ends after the last line break of the run.
  for (std::size_t i = end; i > at; --i) {
    if (has(text, i - 1, kLineBreak)) return i - at;
  }
  // The look-ahead refuses a run followed by another character, so \s+ gives back its last one, if it has two.
  const bool at_end_of_piece = end == text.size();
  const std::size_t length = end - at;
  return at_end_of_piece || length == 1 ? length : length - 1;
}

std::size_t match_words(Classes text, std::size_t at) {
  constexpr int kLetterOrMark = kLetter | kMark;
  constexpr int kSigns = kPunctuation | kSymbol;
  if (has(text, at, kAsciiGraphic) && has(text, at + 1, kAsciiLetter)) return run_end(text, at + 1, kAsciiLetter) - at;
  // The optional leading character may itself be a mark; either way the match covers the same run.
  const std::size_t lead = has(text, at, kLineBreak | kLetter | kSigns) ? 0 : 1;
  if (has(text, at + lead, kLetterOrMark)) return run_end(text, at + lead, kLetterOrMark) - at;
  if (has(text, at, kLetterOrMark)) return run_end(text, at, kLetterOrMark) - at;
  const std::size_t signs = has(text, at, kBlank) ? at + 1 : at;
  if (has(text, signs, kSigns)) return run_end(text, run_end(text, signs, kSigns), kLineBreak) - at;
  return has(text, at, kWhiteSpace) ? match_white_space(text, at) : 0;
}

std::size_t match_at(SplitRule rule, Classes text, std::size_t at) {
  switch (rule) {
    case SplitRule::kNumbers: return match_numbers(text, at);
    case SplitRule::kHanOrKana: return match_han_or_kana(text, at);
    case SplitRule::kWords: return match_words(text, at);
  }
  return 0;
}

/// Cuts characters [begin, end) of `chars` into matches and the stretches between them.
void split_piece(SplitRule rule, Classes chars, Piece piece, std::vector<Piece>& out) {
  const Classes text = chars.subspan(piece.begin, piece.end - piece.begin);
  const auto add = [&](std::size_t begin, std::size_t end) {
    if (begin == end) return;
    out.push_back({piece.begin + static_cast<std::uint32_t>(begin), piece.begin + static_cast<std::uint32_t>(end)});
  };
  std::size_t unmatched = 0;
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = match_at(rule, text, at);
    if (length == 0) {
      ++at;
      continue;
    }
    add(unmatched, at);
    add(at, at + length);
    at += length;
    unmatched = at;
  }
  add(unmatched, at);
}

std::vector<Char> classify(std::string_view text) {
  DI_CHECK(text.size() < std::numeric_limits<std::uint32_t>::max(), "text of {} bytes", text.size());
  std::vector<Char> chars;
  chars.reserve(text.size() + 1);
  for (std::size_t offset = 0; offset < text.size();) {
    const DecodedChar c = decode_utf8_at(text, offset);
    chars.push_back({static_cast<std::uint32_t>(offset), classes_of(c.value)});
    offset += c.length;
  }
  return chars;
}

}  // namespace

Result<SplitRule> split_rule_of_regex(std::string_view regex) {
  if (regex == kNumbersRegex) return SplitRule::kNumbers;
  if (regex == kHanOrKanaRegex) return SplitRule::kHanOrKana;
  if (regex == kWordsRegex) return SplitRule::kWords;
  return errorf(ErrorCode::kUnsupported, "split expression {:?} is unknown; accepted are {:?}, {:?} and {:?}", regex,
                kNumbersRegex, kHanOrKanaRegex, kWordsRegex);
}

std::vector<Piece> PreTokenizer::split(std::string_view text) const {
  if (text.empty()) return {};
  std::vector<Char> chars = classify(text);
  std::vector<Piece> pieces = {{0, static_cast<std::uint32_t>(chars.size())}};  // in characters until the end
  std::vector<Piece> finer;
  for (const SplitRule rule : rules_) {
    finer.clear();
    for (const Piece piece : pieces) split_piece(rule, chars, piece, finer);
    std::swap(pieces, finer);
  }
  chars.push_back({static_cast<std::uint32_t>(text.size()), 0});
  for (Piece& piece : pieces) piece = {chars[piece.begin].offset, chars[piece.end].offset};
  return pieces;
}

}  // namespace deepinfer::tokenizer
