#include "tokenizer/unicode.h"

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

namespace deepinfer::tokenizer {
namespace {

std::string class_text(char32_t value) {
  const CharClasses classes = classes_of(value);
  std::string out;
  if ((classes & kLetter) != 0) out += 'L';
  if ((classes & kMark) != 0) out += 'M';
  if ((classes & kNumber) != 0) out += 'N';
  if ((classes & kPunctuation) != 0) out += 'P';
  if ((classes & kSymbol) != 0) out += 'S';
  if ((classes & kWhiteSpace) != 0) out += 'W';
  return out.empty() ? "-" : out;
}

TEST(Unicode, TablesAgreeWithVersion14OnEveryAssignedCharacter) {
  std::ifstream table(std::string(DEEPINFER_SOURCE_DIR) + "/tests/data/unicode14_classes.txt");
  ASSERT_TRUE(table);
  int checked = 0;
  for (std::string line; std::getline(table, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream fields(line);
    std::uint32_t first = 0;
    std::uint32_t last = 0;
    std::string expected;
    ASSERT_TRUE(fields >> std::hex >> first >> last >> expected) << line;
    for (std::uint32_t value = first; value <= last; ++value, ++checked) {
      ASSERT_EQ(class_text(value), expected) << std::hex << value;
    }
  }
  // 144,697 graphic and format characters, 65 controls, 137,468 private use, 2,048 surrogates.
  EXPECT_EQ(checked, 144697 + 65 + 137468 + 2048);
}

TEST(Unicode, LibraryIsVersion14OrNewer) { EXPECT_GE(std::atoi(unicode_version().c_str()), 14); }

TEST(Unicode, WhiteSpaceHas25Characters) {
  int count = 0;
  for (char32_t value = 0; value < 0x110000; ++value) count += is_white_space(value) ? 1 : 0;
  EXPECT_EQ(count, 25);
  for (char32_t value = 0x1C; value <= 0x1F; ++value) EXPECT_FALSE(is_white_space(value));
}

TEST(Unicode, DerivedClassesOfAscii) {
  int letters = 0;
  int graphics = 0;
  for (char32_t value = 0; value < 0x110000; ++value) {
    letters += (classes_of(value) & kAsciiLetter) != 0 ? 1 : 0;
    graphics += (classes_of(value) & kAsciiGraphic) != 0 ? 1 : 0;
  }
  EXPECT_EQ(letters, 52);
  EXPECT_EQ(graphics, 32);
  for (const char32_t value : {U'!', U'~', U'\\', U'`', U'[', U'@'}) EXPECT_NE(classes_of(value) & kAsciiGraphic, 0);
}

TEST(Unicode, MarksAreThoseOfVersion9) {
  int count = 0;
  for (char32_t value = 0; value < 0x110000; ++value) count += is_mark_of_unicode_9(value) ? 1 : 0;
  EXPECT_EQ(count, 2097);
  for (const char32_t later : {0x07FD, 0x0AFB, 0x0B55, 0x0C04, 0x0D3B, 0x0EBA}) {
    EXPECT_FALSE(is_mark_of_unicode_9(later)) << static_cast<std::uint32_t>(later);
    EXPECT_NE(classes_of(later) & kMark, 0);
  }
  EXPECT_TRUE(is_mark_of_unicode_9(0x0301));   // Mn
  EXPECT_TRUE(is_mark_of_unicode_9(0x0903));   // Mc
  EXPECT_TRUE(is_mark_of_unicode_9(0x20DD));   // Me
  EXPECT_TRUE(is_mark_of_unicode_9(0x1CF2));   // a mark until version 11
  EXPECT_TRUE(is_mark_of_unicode_9(0xE01EF));  // the last one
  EXPECT_FALSE(is_mark_of_unicode_9('a'));
}

TEST(Unicode, DecomposesAndLowers) {
  EXPECT_EQ(compatibility_decomposition("\u00E9"), (std::vector<char32_t>{'e', 0x301}));
  EXPECT_EQ(compatibility_decomposition("\uFB01"), (std::vector<char32_t>{'f', 'i'}));
  EXPECT_EQ(compatibility_decomposition("\uFDFA").size(), 18u);
  EXPECT_TRUE(compatibility_decomposition("").empty());
  EXPECT_EQ(to_lower(U'Ω'), U'ω');
  EXPECT_EQ(to_lower(U'ß'), U'ß');
}

}  // namespace
}  // namespace deepinfer::tokenizer
