#include "tokenizer/fold_map.h"

#include <unordered_map>

#include "tokenizer/byte_alphabet.h"
#include "tokenizer/unicode.h"
#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {
namespace {

// Stands for a text that is one blank while the ends are trimmed (U+E000, private use).
constexpr char32_t kLoneBlank = 0xE000;

bool is_foldable_blank(char32_t value) { return value == ' ' || value == '\t' || value == '\r' || value == '\n'; }

// Drops marks, lower-cases, and makes one blank of every run of blank, tab, CR and LF.
std::u32string fold_characters(std::string_view text) {
  std::u32string out;
  bool in_blank = false;
  for (const char32_t value : compatibility_decomposition(text)) {
    if (is_mark_of_unicode_9(value)) continue;
    const bool blank = is_foldable_blank(value);
    if (!blank) out.push_back(to_lower(value));
    if (blank && !in_blank) out.push_back(U' ');
    in_blank = blank;
  }
  return out;
}

std::u32string_view trim(std::u32string_view text) {
  while (!text.empty() && is_white_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_white_space(text.back())) text.remove_suffix(1);
  return text;
}

bool is_partial(std::string_view bytes) {
  return find_invalid_utf8(bytes).has_value() || bytes.find(kReplacement) != std::string_view::npos;
}

std::string key_of(const Tokenizer& tokenizer, TokenId id) {
  const std::string_view bytes = tokenizer.token_bytes(id);
  if (is_partial(bytes)) return tokenizer.is_added(id) ? std::string(bytes) : bytes_to_alphabet(bytes);
  std::string folded = fold_text(bytes);
  return folded.empty() ? std::string(bytes) : folded;
}

}  // namespace

std::string fold_text(std::string_view text) {
  std::u32string folded = fold_characters(text);
  if (folded == U" ") folded[0] = kLoneBlank;
  std::string out;
  for (const char32_t value : trim(folded)) append_utf8(value == kLoneBlank ? U' ' : value, out);
  return out;
}

std::vector<std::int32_t> fold_map(const Tokenizer& tokenizer) {
  std::unordered_map<std::string, std::int32_t> classes;
  std::vector<std::int32_t> map;
  map.reserve(static_cast<std::size_t>(tokenizer.vocab_size()));
  for (TokenId id = 0; id < tokenizer.vocab_size(); ++id) {
    const auto next = static_cast<std::int32_t>(classes.size());
    map.push_back(classes.emplace(key_of(tokenizer, id), next).first->second);
  }
  return map;
}

}  // namespace deepinfer::tokenizer
