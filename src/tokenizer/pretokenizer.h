// Pre-tokenization: cuts text into the pieces inside which merges apply.
//
// tokenizer.json gives a sequence of isolated splits as regular expressions. The three expressions of the released
// files are known here by their text and matched by hand-written code over character classes: linear time on any text
// (no backtracking, no match limits), and Unicode tables that this build pins. Other expressions are refused when the
// file is read. Source: tokenizer-and-prompts.md 1.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::tokenizer {

/// One split of the sequence.
enum class SplitRule : std::uint8_t {
  kNumbers,    ///< \p{N}{1,3}
  kHanOrKana,  ///< runs of U+4E00–9FA5, U+3040–309F, U+30A0–30FF
  kWords,      ///< the alternation of words, punctuation and white space
};

/// The rule whose regular expression is `regex`, character for character. Errors: kUnsupported naming the expression.
Result<SplitRule> split_rule_of_regex(std::string_view regex);

/// Bytes [begin, end) of the text.
struct Piece {
  std::uint32_t begin;
  std::uint32_t end;
  bool operator==(const Piece&) const = default;
};

class PreTokenizer {
 public:
  /// Each rule works on the pieces left by the one before it; without rules every text is one piece.
  explicit PreTokenizer(std::vector<SplitRule> rules) : rules_(std::move(rules)) {}

  /// Pieces of `text` (valid UTF-8, shorter than 4 GiB), in order, without gaps and never empty.
  std::vector<Piece> split(std::string_view text) const;

 private:
  std::vector<SplitRule> rules_;
};

}  // namespace deepinfer::tokenizer
