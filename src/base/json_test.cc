#include "base/json.h"

#include <gtest/gtest.h>

namespace deepinfer::base {
namespace {

TEST(Json, KeepsOrderAndNumberText) {
  const auto value = parse_json(R"({"b":1.0,"a":[18446744073709551615,-3,1e5],"c":"é"})");
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(dump_json(*value), R"({"b":1.0,"a":[18446744073709551615,-3,1e5],"c":"é"})");
  EXPECT_EQ(value->find("a")->items()[0].as_uint(), 18446744073709551615ULL);
  EXPECT_FALSE(value->find("a")->items()[0].as_int());
}

TEST(Json, RefusesDuplicatesDepthGarbageAndBadUtf8) {
  for (const char* text : {R"({"a":1,"a":2})", "[1,2", "1 2", "\"\xff\"", ""}) {
    const auto value = parse_json(text);
    ASSERT_FALSE(value) << text;
    EXPECT_EQ(value.error().code, ErrorCode::kInvalidArgument);
  }
  EXPECT_FALSE(parse_json(std::string(200, '[') + std::string(200, ']')));
}

TEST(Json, KeepsLastOfRepeatedKeysWhenAsked) {
  const JsonLimits limits{.duplicate_keys = JsonLimits::DuplicateKeys::kKeepLast};
  const auto value = parse_json(R"({"a":{"x":1},"b":2,"a":{"y":[3]},"c":4})", limits);
  ASSERT_TRUE(value) << value.error().message;
  EXPECT_EQ(dump_json(*value), R"({"a":{"y":[3]},"b":2,"c":4})");
}

TEST(Json, Styles) {
  Json value;
  value.set("x", Json::Array{1, "a\n\xc3\xa9"}).set("y", 0.5);
  EXPECT_EQ(dump_json(value, {.spaces = true}), "{\"x\": [1, \"a\\né\"], \"y\": 0.5}");
  EXPECT_EQ(dump_json(value, {.ascii_only = true}), R"({"x":[1,"a\n\u00e9"],"y":0.5})");
  EXPECT_EQ(dump_json(value, {.indent = 2}), "{\n  \"x\": [\n    1,\n    \"a\\né\"\n  ],\n  \"y\": 0.5\n}");
}

TEST(Json, ErrorsQuoteLittleOfALongText) {
  const auto parsed = parse_json("[\"" + std::string(100000, 'a'));
  ASSERT_FALSE(parsed);
  EXPECT_LT(parsed.error().message.size(), 300U);
}

}  // namespace
}  // namespace deepinfer::base
