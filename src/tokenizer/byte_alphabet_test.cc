#include "tokenizer/byte_alphabet.h"

#include <set>

#include <gtest/gtest.h>

namespace deepinfer::tokenizer {
namespace {

TEST(ByteAlphabet, IsABijectionOnAllBytes) {
  std::set<char32_t> seen;
  for (int byte = 0; byte < 256; ++byte) {
    const char value = static_cast<char>(static_cast<std::uint8_t>(byte));
    seen.insert(alphabet_char(static_cast<std::uint8_t>(byte)));
    EXPECT_EQ(alphabet_to_bytes(bytes_to_alphabet({&value, 1})), std::string(1, value));
  }
  EXPECT_EQ(seen.size(), 256u);
}

TEST(ByteAlphabet, HasTheKnownSpellings) {
  EXPECT_EQ(bytes_to_alphabet(" \n\t\x7F\xAD"), "ĠĊĉġŃ");
  EXPECT_EQ(bytes_to_alphabet("é"), "Ã©");
  EXPECT_EQ(alphabet_to_bytes("Ġthe"), " the");
}

TEST(ByteAlphabet, RefusesOtherCharacters) {
  EXPECT_FALSE(alphabet_to_bytes("a b"));
  EXPECT_FALSE(alphabet_to_bytes("｜"));
  EXPECT_FALSE(alphabet_to_bytes("\u00AD"));
  EXPECT_FALSE(alphabet_to_bytes("\u0144"));
}

}  // namespace
}  // namespace deepinfer::tokenizer
