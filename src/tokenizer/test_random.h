// Random texts for the tokenizer's property tests: seeded, with the characters that decide between rules.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>

#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {

class RandomText {
 public:
  explicit RandomText(std::uint32_t seed) : engine_(seed) {}

  std::size_t below(std::size_t limit) { return std::uniform_int_distribution<std::size_t>(0, limit - 1)(engine_); }

  /// Up to `max_chars` characters: half from a list of telling ones (short runs of each), half from all of Unicode.
  std::string text(std::size_t max_chars) {
    static constexpr std::array<std::string_view, 40> kTelling = {
        " ",      "  ",     "\n",     "\r",     "\t",     "\x0b",   "\x1c",   "\u0085", "\u00A0", "\u2028",
        "\u3000", "a",      "Z",      "the",    "1",      "12",     "\u0661", "\u2167", "\u00B2", ".",
        "!",      "-",      "\"",     "\u2026", "$",      "\u20AC", "\u0301", "\u093E", "\u20DD", "\u4E00",
        "\u9FA5", "\u9FA6", "\u3042", "\u30A2", "\u3099", "\u00E9", "\u0431", "\u200D", "\U0001F600", "\u0E01"};
    std::string out;
    for (std::size_t left = below(max_chars + 1); left > 0; --left) {
      if (below(2) == 0) {
        append_utf8(scalar_value(), out);
      } else {
        const std::string_view unit = kTelling[below(kTelling.size())];
        for (std::size_t repeat = below(4) == 0 ? 5 : 1; repeat > 0; --repeat) out += unit;
      }
    }
    return out;
  }

  std::string bytes(std::size_t max_bytes) {
    // Leads and continuations are drawn often, so that sequences nearly succeed.
    static constexpr std::array<std::uint8_t, 14> kTelling = {0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC2,
                                                              0xE0, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0x41};
    std::string out;
    for (std::size_t left = below(max_bytes + 1); left > 0; --left) {
      const std::size_t value = below(3) == 0 ? below(256) : kTelling[below(kTelling.size())];
      out.push_back(static_cast<char>(static_cast<std::uint8_t>(value)));
    }
    return out;
  }

 private:
  char32_t scalar_value() {
    const std::size_t limit = below(2) == 0 ? 0x3100 : 0x110000;
    const auto value = static_cast<char32_t>(below(limit));
    return value >= 0xD800 && value < 0xE000 ? U'\uFFFD' : value;
  }

  std::mt19937 engine_;
};

}  // namespace deepinfer::tokenizer
