#include "tokenizer/utf8.h"

#include <string>

#include <gtest/gtest.h>

#include "tokenizer/test_random.h"

namespace deepinfer::tokenizer {
namespace {

std::string filtered(std::string_view bytes) {
  std::string out;
  Utf8Filter filter;
  filter.push(bytes, out);
  filter.finish(out);
  return out;
}

TEST(Utf8, EveryScalarValueSurvivesEncodingAndDecoding) {
  for (char32_t value = 0; value < 0x110000; ++value) {
    std::string text;
    append_utf8(value, text);
    const bool surrogate = value >= 0xD800 && value < 0xE000;
    ASSERT_EQ(find_invalid_utf8(text).has_value(), surrogate) << static_cast<std::uint32_t>(value);
    if (surrogate) continue;
    ASSERT_EQ(decode_utf8_at(text, 0).value, value);
    ASSERT_EQ(decode_utf8_at(text, 0).length, text.size());
    ASSERT_EQ(filtered(text), text);
  }
}

TEST(Utf8, NamesTheFirstBadByte) {
  EXPECT_EQ(find_invalid_utf8("abc\xC0\x80"), 3u);
  EXPECT_EQ(find_invalid_utf8("\xE2\x82"), 0u);
  EXPECT_EQ(find_invalid_utf8("a\u20AC\xFF"), 4u);
  EXPECT_EQ(find_invalid_utf8("\xF4\x90\x80\x80"), 0u);
  EXPECT_FALSE(find_invalid_utf8(""));
}

TEST(Utf8Filter, ReplacesMaximalSubparts) {
  const std::string r(kReplacement);
  EXPECT_EQ(filtered("\xE2\x82"), r);
  EXPECT_EQ(filtered("\xE2\x82x"), r + "x");
  EXPECT_EQ(filtered("\xF0\x9F\x98"), r);
  EXPECT_EQ(filtered("\xF0\x80\x80"), r + r + r);
  EXPECT_EQ(filtered("\xC0\xAF"), r + r);
  EXPECT_EQ(filtered("\xED\xA0\x80"), r + r + r);
  EXPECT_EQ(filtered("\xED\xA0"), r + r);
  EXPECT_EQ(filtered("\xED"), r);
  EXPECT_EQ(filtered("\xF1\x80\x80\xE2\x82\xAC"), r + "\u20AC");
  EXPECT_EQ(filtered("\xF4\x90\x80\x80"), r + r + r + r);
}

TEST(Utf8Filter, HoldsASurrogateLeadForOneMoreByte) {
  Utf8Filter filter;
  std::string out;
  filter.push("\xED\xA0", out);
  EXPECT_EQ(out, "");
  EXPECT_EQ(filter.held(), 2u);
  filter.push("x", out);
  EXPECT_EQ(out, std::string(kReplacement) + std::string(kReplacement) + "x");
}

/// Textbook form of the replacement rule (Unicode, chapter 3): at each position the longest prefix of a well-formed
/// sequence, or one byte.
std::string replaced_by_definition(std::string_view bytes) {
  const auto is_prefix = [](std::string_view part) {  // of some well-formed sequence
    for (const std::string_view tail : {"", "\x80", "\xBF", "\x80\x80", "\xBF\xBF", "\xBF\x80", "\x9F\x80",
                                        "\x80\x80\x80", "\xBF\x80\x80", "\x8F\x80\x80"}) {
      const std::string whole = std::string(part) + std::string(tail);
      if (!find_invalid_utf8(whole) && decode_utf8_at(whole, 0).length == whole.size()) return true;
    }
    return false;
  };
  std::string out;
  while (!bytes.empty()) {
    std::size_t length = 1;
    while (length < bytes.size() && length < 4 && is_prefix(bytes.substr(0, length + 1))) ++length;
    while (length > 1 && !is_prefix(bytes.substr(0, length))) --length;
    const std::string_view part = bytes.substr(0, length);
    const bool whole = !find_invalid_utf8(part).has_value();
    if (whole) {
      const std::size_t first = decode_utf8_at(part, 0).length;
      out += part.substr(0, first);
      bytes.remove_prefix(first);
    } else {
      const std::size_t ascii = static_cast<std::uint8_t>(bytes[0]) < 0x80 ? 1 : 0;
      out += ascii != 0 ? bytes.substr(0, 1) : kReplacement;
      bytes.remove_prefix(ascii != 0 ? 1 : length);
    }
  }
  return out;
}

TEST(Utf8Filter, EqualsTheDefinitionHoweverBytesAreCut) {
  RandomText random(1);
  for (int round = 0; round < 20000; ++round) {
    const std::string bytes = random.bytes(12);
    const std::string expected = replaced_by_definition(bytes);
    ASSERT_EQ(filtered(bytes), expected) << ::testing::PrintToString(bytes);
    Utf8Filter filter;
    std::string out;
    for (std::string_view rest = bytes; !rest.empty();) {
      const std::size_t size = 1 + random.below(rest.size());
      filter.push(rest.substr(0, size), out);
      rest.remove_prefix(size);
      ASSERT_LE(filter.held(), 3u);
      ASSERT_FALSE(find_invalid_utf8(out));
    }
    filter.finish(out);
    ASSERT_EQ(out, expected) << ::testing::PrintToString(bytes);
  }
}

}  // namespace
}  // namespace deepinfer::tokenizer
