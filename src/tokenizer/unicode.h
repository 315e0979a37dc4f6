// Character classes and case of Unicode, as the pre-tokenizer and the folded token map need them.
//
// Wraps utf8proc (unicode.cc is the only file that includes it), whose tables must be Unicode 14 or newer; the unit
// test compares every code point assigned in Unicode 14 with a committed table. Source: tokenizer-and-prompts.md 1,
// model.md 4.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::tokenizer {

/// Bits of `CharClasses`. The five general categories exclude each other; the others overlap with them.
enum CharClass : std::uint16_t {
  kLetter = 1 << 0,         ///< \p{L}
  kMark = 1 << 1,           ///< \p{M}
  kNumber = 1 << 2,         ///< \p{N}
  kPunctuation = 1 << 3,    ///< \p{P}
  kSymbol = 1 << 4,         ///< \p{S}
  kWhiteSpace = 1 << 5,     ///< the White_Space property (25 characters; U+001C–001F are not in it)
  kLineBreak = 1 << 6,      ///< CR or LF
  kBlank = 1 << 7,          ///< U+0020
  kAsciiLetter = 1 << 8,    ///< A–Z, a–z
  kAsciiGraphic = 1 << 9,   ///< the 32 ASCII punctuation and symbol characters
  kHanOrKana = 1 << 10,     ///< U+4E00–9FA5, U+3040–309F, U+30A0–30FF
};
using CharClasses = std::uint16_t;

CharClasses classes_of(char32_t value);

bool is_white_space(char32_t value);

/// General category M* as of Unicode 9.0, frozen: marks added later are not in it, and the two characters that ceased
/// to be marks in Unicode 12 (U+1CF2, U+1CF3) are.
bool is_mark_of_unicode_9(char32_t value);

/// NFD(NFKC(text)), which equals NFKD(text), as code points. `text` is valid UTF-8.
std::vector<char32_t> compatibility_decomposition(std::string_view text);

/// Simple lower-case mapping of one character.
char32_t to_lower(char32_t value);

/// Version of the Unicode tables in use, e.g. "15.0.0".
std::string unicode_version();

}  // namespace deepinfer::tokenizer
