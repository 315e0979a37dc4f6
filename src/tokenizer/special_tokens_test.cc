#include "tokenizer/special_tokens.h"

#include <algorithm>

#include <gtest/gtest.h>

namespace deepinfer::tokenizer {
namespace {

TEST(AddedTokenMatcher, TakesLeftmostThenLongest) {
  const AddedTokenMatcher matcher({{7, "ab", false}, {8, "abcd", false}, {9, "bcdef", false}, {10, "é", false}});
  auto match = matcher.find("xabcdef", 0);
  ASSERT_TRUE(match);
  EXPECT_EQ(match->begin, 1u);
  EXPECT_EQ(match->end, 5u);
  EXPECT_EQ(match->id, 8);
  match = matcher.find("abcx", 0);  // the longer literal fails after its prefix
  ASSERT_TRUE(match);
  EXPECT_EQ(match->end, 2u);
  EXPECT_EQ(match->id, 7);
  EXPECT_EQ(matcher.find("xabcdef", 2)->id, 9);
  EXPECT_EQ(matcher.find("caf\u00E9", 0)->id, 10);
  EXPECT_FALSE(matcher.find("a b c", 0));
  EXPECT_FALSE(matcher.find("", 0));
  EXPECT_FALSE(AddedTokenMatcher().find("ab", 0));
}

std::vector<AddedToken> v4_tokens() {
  return {{2, "<｜▁pad▁｜>", true},
          {128799, "<｜place▁holder▁no▁799｜>", true},
          {129264, "<｜image2｜>", false},
          {129270, "<｜tr｜>", false},
          {129279, "<｜image｜>", true}};
}

TEST(RenameV4ToV41, RenamesByIdAndKeepsFlags) {
  auto tokens = v4_tokens();
  EXPECT_TRUE(rename_v4_to_v41(129280, tokens));
  EXPECT_EQ(tokens[0].literal, "<｜▁pad▁｜>");
  EXPECT_EQ(tokens[1].literal, "<｜System｜>");
  EXPECT_EQ(tokens[2].literal, "<｜deepseek_image｜>");
  EXPECT_EQ(tokens[3].literal, "<|place_holder_mm_span_0441|>");
  EXPECT_EQ(tokens[4].literal, "<|place_holder_mm_span_0442|>");
  EXPECT_TRUE(tokens[1].special);
  EXPECT_FALSE(tokens[2].special);
  EXPECT_FALSE(rename_v4_to_v41(129280, tokens));  // it is V4.1 now
}

TEST(RenameV4ToV41, LeavesOtherVocabulariesAlone) {
  auto tokens = v4_tokens();
  EXPECT_FALSE(rename_v4_to_v41(129279, tokens));
  EXPECT_EQ(tokens[1].literal, "<｜place▁holder▁no▁799｜>");
}

}  // namespace
}  // namespace deepinfer::tokenizer
