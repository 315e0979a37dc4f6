// UTF-8: validation, decoding of valid text, encoding, and the replacement filter behind every decode.
//
// The filter turns arbitrary bytes, given in pieces, into valid UTF-8: one U+FFFD per maximal ill-formed subpart, which
// is what full decoding gives too, so one mechanism serves both. Source: tokenizer-and-prompts.md 4.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace deepinfer::tokenizer {

/// U+FFFD as UTF-8.
inline constexpr std::string_view kReplacement = "\xEF\xBF\xBD";

/// Byte offset of the first ill-formed sequence, or nothing when all of `text` is valid UTF-8.
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

struct DecodedChar {
  char32_t value;
  std::uint32_t length;  ///< bytes, 1 … 4
};
/// The character at `offset` of valid UTF-8; `offset` is a character boundary before the end.
DecodedChar decode_utf8_at(std::string_view text, std::size_t offset);

/// Appends `value` (a Unicode scalar value) as UTF-8.
void append_utf8(char32_t value, std::string& out);

/// Bytes in, valid UTF-8 out, holding back at most three undecided bytes.
class Utf8Filter {
 public:
  /// Appends to `out` everything that `bytes` decides. Cost O(bytes.size()).
  void push(std::string_view bytes, std::string& out);
  /// Appends what the undecided bytes become at the end of the stream, and starts over.
  void finish(std::string& out);
  /// Undecided bytes held, 0 … 3.
  std::size_t held() const { return size_; }

 private:
  void push_byte(std::uint8_t byte, std::string& out);
  void start(std::uint8_t byte, std::string& out);
  bool holds_surrogate() const { return size_ == 2 && held_[0] == 0xED && held_[1] >= 0xA0; }

  std::array<std::uint8_t, 4> held_{};
  std::size_t size_ = 0;
};

}  // namespace deepinfer::tokenizer
