// The GPT-2 byte alphabet: every byte value as one printable character, the spelling of tokens in tokenizer.json.
//
// Bytes 21–7E, A1–AC and AE–FF stand for themselves (as code points); the other 68 become U+0100, U+0101, … in
// ascending order, so a blank is "Ġ" (U+0120). Source: tokenizer-and-prompts.md 1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace deepinfer::tokenizer {

/// The character that stands for `byte`.
char32_t alphabet_char(std::uint8_t byte);

/// Bytes in the alphabet's spelling (UTF-8).
std::string bytes_to_alphabet(std::string_view bytes);

/// The bytes that `spelling` (valid UTF-8) stands for; nothing if a character is not in the alphabet.
std::optional<std::string> alphabet_to_bytes(std::string_view spelling);

}  // namespace deepinfer::tokenizer
