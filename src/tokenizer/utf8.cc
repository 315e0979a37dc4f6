#include "tokenizer/utf8.h"

#include <algorithm>

#include "base/check.h"

namespace deepinfer::tokenizer {
namespace {

// Length announced by a lead byte; 0 for bytes that cannot start a character.
std::uint32_t sequence_length(std::uint8_t lead) {
  if (lead < 0x80) return 1;
  if (lead < 0xC2) return 0;
  if (lead < 0xE0) return 2;
  if (lead < 0xF0) return 3;
  return lead < 0xF5 ? 4 : 0;
}

bool is_continuation(std::uint8_t byte) { return (byte & 0xC0) == 0x80; }

// The second byte excludes overlong forms (E0, F0), surrogates (ED) and values above U+10FFFF (F4).
bool is_second_byte(std::uint8_t lead, std::uint8_t byte) {
  if (!is_continuation(byte)) return false;
  switch (lead) {
    case 0xE0: return byte >= 0xA0;
    case 0xED: return byte < 0xA0;
    case 0xF0: return byte >= 0x90;
    case 0xF4: return byte < 0x90;
    default: return true;
  }
}

std::uint8_t byte_at(std::string_view text, std::size_t offset) { return static_cast<std::uint8_t>(text[offset]); }

bool is_sequence_at(std::string_view text, std::size_t offset, std::uint32_t length) {
  if (length == 0 || offset + length > text.size()) return false;
  if (length >= 2 && !is_second_byte(byte_at(text, offset), byte_at(text, offset + 1))) return false;
  for (std::uint32_t i = 2; i < length; ++i) {
    if (!is_continuation(byte_at(text, offset + i))) return false;
  }
  return true;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  std::size_t offset = 0;
  while (offset < text.size()) {
    const std::uint32_t length = sequence_length(byte_at(text, offset));
    if (!is_sequence_at(text, offset, length)) return offset;
    offset += length;
  }
  return std::nullopt;
}

DecodedChar decode_utf8_at(std::string_view text, std::size_t offset) {
  const std::uint8_t lead = byte_at(text, offset);
  const std::uint32_t length = sequence_length(lead);
  DI_DCHECK(is_sequence_at(text, offset, length), "offset={} size={}", offset, text.size());
  if (length == 1) return {lead, 1};
  char32_t value = lead & (0x7Fu >> length);
  for (std::uint32_t i = 1; i < length; ++i) value = (value << 6) | (byte_at(text, offset + i) & 0x3Fu);
  return {value, length};
}

void append_utf8(char32_t value, std::string& out) {
  const auto put = [&out](char32_t byte) { out.push_back(static_cast<char>(static_cast<std::uint8_t>(byte))); };
  if (value < 0x80) return put(value);
  if (value < 0x800) {
    put(0xC0 | (value >> 6));
  } else {
    if (value < 0x10000) {
      put(0xE0 | (value >> 12));
    } else {
      put(0xF0 | (value >> 18));
      put(0x80 | ((value >> 12) & 0x3F));
    }
    put(0x80 | ((value >> 6) & 0x3F));
  }
  put(0x80 | (value & 0x3F));
}

void Utf8Filter::push(std::string_view bytes, std::string& out) {
  for (const char byte : bytes) push_byte(static_cast<std::uint8_t>(byte), out);
}

void Utf8Filter::push_byte(std::uint8_t byte, std::string& out) {
  if (size_ == 0) return start(byte, out);
  // ED A0–BF begins an encoded surrogate: held for one more byte, then one U+FFFD for each of the two.
  const bool surrogate = size_ == 1 && held_[0] == 0xED && byte >= 0xA0 && byte <= 0xBF;
  const bool fits = size_ == 1 ? surrogate || is_second_byte(held_[0], byte) : is_continuation(byte);
  if (!fits || holds_surrogate()) {
    finish(out);
    return start(byte, out);
  }
  held_[size_++] = byte;
  if (size_ < sequence_length(held_[0])) return;
  for (std::size_t i = 0; i < size_; ++i) out.push_back(static_cast<char>(held_[i]));
  size_ = 0;
}

void Utf8Filter::start(std::uint8_t byte, std::string& out) {
  const std::uint32_t length = sequence_length(byte);
  if (length == 0) {
    out += kReplacement;
  } else if (length == 1) {
    out.push_back(static_cast<char>(byte));
  } else {
    held_[0] = byte;
    size_ = 1;
  }
}

void Utf8Filter::finish(std::string& out) {
  if (size_ > 0) out += kReplacement;
  if (holds_surrogate()) out += kReplacement;
  size_ = 0;
}

}  // namespace deepinfer::tokenizer
