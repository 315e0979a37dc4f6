// The hand-written matcher against the regular expressions themselves, run by PCRE2.
#include "tokenizer/pretokenizer.h"

#include <memory>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/io.h"
#include "base/json.h"
#include "tokenizer/test_random.h"
#include "tokenizer/unicode.h"

namespace deepinfer::tokenizer {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

const std::vector<SplitRule> kReleased = {SplitRule::kNumbers, SplitRule::kHanOrKana, SplitRule::kWords};

std::vector<std::string> pieces_of(const std::string& text, std::vector<SplitRule> rules = kReleased) {
  std::vector<std::string> out;
  for (const Piece piece : PreTokenizer(std::move(rules)).split(text)) {
    out.push_back(text.substr(piece.begin, piece.end - piece.begin));
  }
  return out;
}

/// The three expressions of a released-format file.
std::vector<std::string> expressions_of_file() {
  const auto json = base::parse_json(
      *base::read_file(std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/tokenizer/tiny_tokenizer.json"));
  std::vector<std::string> out;
  for (const base::Json& step : json->find("pre_tokenizer")->find("pretokenizers")->items()) {
    if (const base::Json* pattern = step.find("pattern")) out.push_back(pattern->find("Regex")->string());
  }
  return out;
}

class Expression {
 public:
  explicit Expression(const std::string& pattern) {
    int error = 0;
    PCRE2_SIZE offset = 0;
    code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), PCRE2_UTF | PCRE2_UCP,
                              &error, &offset, nullptr));
    EXPECT_NE(code_, nullptr) << pattern;
    match_.reset(pcre2_match_data_create_from_pattern(code_.get(), nullptr));
  }

  bool occurs_in(const std::string& text) const {
    return pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), 0, 0, match_.get(),
                       nullptr) > 0;
  }

  std::vector<std::string> split(const std::string& text) const {
    std::vector<std::string> out;
    std::size_t at = 0;
    while (pcre2_match(code_.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), at, 0, match_.get(),
                       nullptr) > 0) {
      const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(match_.get());
      if (ends[0] > at) out.push_back(text.substr(at, ends[0] - at));
      out.push_back(text.substr(ends[0], ends[1] - ends[0]));
      at = ends[1];
    }
    if (at < text.size()) out.push_back(text.substr(at));
    return out;
  }

 private:
  struct Free {
    void operator()(pcre2_code* code) const { pcre2_code_free(code); }
    void operator()(pcre2_match_data* match) const { pcre2_match_data_free(match); }
  };
  std::unique_ptr<pcre2_code, Free> code_;
  std::unique_ptr<pcre2_match_data, Free> match_;
};

/// Random text without characters on which PCRE2 legitimately differs: those its tables do not know yet, and U+180E,
/// which it counts as white space although it lost that property in Unicode 6.3.
std::string comparable_text(RandomText& random, const Expression& excluded) {
  std::string out;
  const std::string text = random.text(40);
  for (std::size_t offset = 0; offset < text.size();) {
    const std::string character = text.substr(offset, decode_utf8_at(text, offset).length);
    if (!excluded.occurs_in(character)) out += character;
    offset += character.size();
  }
  return out;
}

TEST(PreTokenizer, EqualsTheRegularExpressionsOnRandomText) {
  const Expression excluded("[\\p{Cn}\\x{180E}]");
  std::vector<Expression> expressions;
  for (const std::string& pattern : expressions_of_file()) expressions.emplace_back(pattern);
  ASSERT_EQ(expressions.size(), 3u);
  RandomText random(2);
  for (int round = 0; round < 20000; ++round) {
    const std::string text = comparable_text(random, excluded);
    std::vector<std::string> expected = {text};
    if (text.empty()) expected.clear();
    for (const Expression& expression : expressions) {
      std::vector<std::string> finer;
      for (const std::string& piece : expected) {
        for (std::string& part : expression.split(piece)) finer.push_back(std::move(part));
      }
      expected = std::move(finer);
    }
    ASSERT_EQ(pieces_of(text), expected) << ::testing::PrintToString(text);
  }
}

TEST(PreTokenizer, KnowsTheExpressionsOfTheReleasedFile) {
  const auto expressions = expressions_of_file();
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(split_rule_of_regex(expressions[i]).value(), kReleased[i]);
}

TEST(PreTokenizer, RefusesOtherExpressions) {
  const auto rule = split_rule_of_regex("\\w+");
  ASSERT_FALSE(rule);
  EXPECT_EQ(rule.error().code, ErrorCode::kUnsupported);
  EXPECT_THAT(rule.error().message, ::testing::HasSubstr("\\w+"));
}

TEST(PreTokenizer, CutsWordsNumbersAndSigns) {
  EXPECT_THAT(pieces_of("Hello! 12345 x"), ElementsAre("Hello", "!", " ", "123", "45", " x"));
  EXPECT_THAT(pieces_of("a漢字かなb"), ElementsAre("a", "漢字かな", "b"));
  EXPECT_THAT(pieces_of("#tag ...\n\nx"), ElementsAre("#tag", " ...\n\n", "x"));
  EXPECT_THAT(pieces_of("\x01\x01z"), ElementsAre("\x01", "\x01z"));
}

TEST(PreTokenizer, GivesBackTheLastBlankBeforeAWord) {
  EXPECT_THAT(pieces_of("a   b"), ElementsAre("a", "  ", " b"));
  EXPECT_THAT(pieces_of("a   "), ElementsAre("a", "   "));
  EXPECT_THAT(pieces_of("a  1"), ElementsAre("a", "  ", "1"));  // a split before made the blanks end a piece
  EXPECT_THAT(pieces_of("a \n \n  b"), ElementsAre("a", " \n \n", " ", " b"));
}

TEST(PreTokenizer, HandlesNoRulesAndNoText) {
  EXPECT_THAT(pieces_of(""), IsEmpty());
  EXPECT_THAT(pieces_of("a b", {}), ElementsAre("a b"));
}

TEST(PreTokenizer, PiecesCoverTheTextWithoutGaps) {
  RandomText random(3);
  for (int round = 0; round < 2000; ++round) {
    const std::string text = random.text(60);
    std::uint32_t at = 0;
    for (const Piece piece : PreTokenizer(kReleased).split(text)) {
      ASSERT_EQ(piece.begin, at);
      ASSERT_LT(piece.begin, piece.end);
      at = piece.end;
    }
    ASSERT_EQ(at, text.size());
  }
}

}  // namespace
}  // namespace deepinfer::tokenizer
