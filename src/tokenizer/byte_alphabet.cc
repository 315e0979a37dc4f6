#include "tokenizer/byte_alphabet.h"

#include <array>

#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {
namespace {

constexpr bool stands_for_itself(int byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

constexpr int kShifted = 68;  // bytes that need a character of their own, U+0100 onwards
constexpr int kSpan = 256 + kShifted;

constexpr std::array<char32_t, 256> make_chars() {
  std::array<char32_t, 256> chars{};
  char32_t next = 256;
  for (int byte = 0; byte < 256; ++byte) {
    chars[static_cast<std::size_t>(byte)] = stands_for_itself(byte) ? static_cast<char32_t>(byte) : next++;
  }
  return chars;
}
constexpr std::array<char32_t, 256> kChars = make_chars();

constexpr std::array<int, kSpan> make_bytes() {
  std::array<int, kSpan> bytes{};
  for (int& byte : bytes) byte = -1;
  for (int byte = 0; byte < 256; ++byte) bytes[kChars[static_cast<std::size_t>(byte)]] = byte;
  return bytes;
}
constexpr std::array<int, kSpan> kBytes = make_bytes();

}  // namespace

char32_t alphabet_char(std::uint8_t byte) { return kChars[byte]; }

std::string bytes_to_alphabet(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size() * 2);
  for (const char byte : bytes) append_utf8(kChars[static_cast<std::uint8_t>(byte)], out);
  return out;
}

std::optional<std::string> alphabet_to_bytes(std::string_view spelling) {
  std::string out;
  for (std::size_t offset = 0; offset < spelling.size();) {
    const DecodedChar c = decode_utf8_at(spelling, offset);
    if (c.value >= kSpan || kBytes[c.value] < 0) return std::nullopt;
    out.push_back(static_cast<char>(static_cast<std::uint8_t>(kBytes[c.value])));
    offset += c.length;
  }
  return out;
}

}  // namespace deepinfer::tokenizer
