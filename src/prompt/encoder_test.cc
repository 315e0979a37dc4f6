#include <gtest/gtest.h>

#include "base/json.h"
#include "prompt/conversation_json.h"
#include "prompt/dsv41_encoder.h"
#include "prompt/prompt.h"
#include "prompt/python_json.h"
#include "prompt/request_error.h"
#include "prompt/structure_tokens.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

std::string replaced(std::string text, std::string_view from, std::string_view to) {
  for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

// Structure tokens as short names in brackets, so that expectations stay readable.
std::string shorthand(const PromptSegments& segments) {
  std::string out;
  for (const Segment& segment : segments.items()) {
    out += segment.kind == Segment::Kind::kToken ? "[" + segment.text + "]" : segment.text;
  }
  const std::pair<std::string_view, std::string_view> kNames[] = {
      {kBeginOfSentence, "BOS"}, {kEndOfSentence, "EOS"}, {kSystem, "S"},    {kUser, "U"}, {kAssistant, "A"},
      {kLatestReminder, "R"},    {kThinkStart, "t"},      {kThinkEnd, "/t"}, {kDsml, "§"}, {kImage, "IMG"}};
  for (const auto& [literal, name] : kNames) {
    out = replaced(out, "[" + std::string(literal) + "]", "[" + std::string(name) + "]");
  }
  return replaced(out, "Reasoning Effort: 75 (range 1-100, the higher the value, the more thorough the reasoning)\n\n",
                  "E;");
}

Result<EncodedPrompt> encode(const std::string& text, Rules rules) {
  const auto json = base::parse_json(text);
  EXPECT_TRUE(json) << text;
  const auto conversation = read_conversation(*json, rules);
  if (!conversation) return tl::unexpected(conversation.error());
  return Dsv41Encoder().encode(*conversation);
}

std::string recipe(const std::string& messages, const std::string& rest = R"("thinking_mode":true)") {
  const auto prompt = encode(R"({"messages":)" + messages + "," + rest + "}", Rules::kRecipe);
  return prompt ? shorthand(prompt->segments) : prompt.error().to_string();
}
std::string checkpoint(const std::string& messages, const std::string& rest = R"("thinking_mode":"thinking")") {
  const auto prompt = encode(R"({"messages":)" + messages + "," + rest + "}", Rules::kCheckpoint);
  return prompt ? shorthand(prompt->segments) : prompt.error().to_string();
}

constexpr const char* kChat = R"("thinking_mode":false)";

// The table of verified renderings in the specification.
TEST(Encoder, RendersTheVerifiedTable) {
  EXPECT_EQ(recipe(R"([{"role":"user","content":"Hello"}])"), "[BOS][S]E;[U]Hello[A][t]");
  EXPECT_EQ(recipe(R"([{"role":"user","content":"Hello"}])", kChat), "[BOS][U]Hello[A][/t]");
  EXPECT_EQ(recipe(R"([{"role":"system","content":"S"},{"role":"user","content":"Hello"}])"),
            "[BOS][S]E;S[U]Hello[A][t]");
  EXPECT_EQ(recipe(R"([{"role":"system","content":"x"}])", kChat), "[BOS][S]x[A][/t]");
  EXPECT_EQ(recipe(R"([{"role":"system","content":"S1"},{"role":"system","content":"S2"},)"
                   R"({"role":"user","content":"u"}])"),
            "[BOS][S]E;S1[S]S2[U]u[A][t]");
  EXPECT_EQ(recipe(R"([{"role":"user","content":"Hello"},{"role":"user","content":"Hello"}])"),
            "[BOS][S]E;[U]Hello\n\nHello[A][t]");
  EXPECT_EQ(recipe(R"([{"role":"user","content":"Hello"},{"role":"assistant","content":"A","reasoning_content":"R"},)"
                   R"({"role":"user","content":"Hello"}])"),
            "[BOS][S]E;[U]Hello[A][/t]A[EOS][U]Hello[A][t]");
  EXPECT_EQ(recipe(R"([{"role":"user","content":"u"},{"role":"assistant","content":"A"}])"),
            "[BOS][S]E;[U]u[A][/t]A[EOS][A][t]");
  EXPECT_EQ(recipe(R"([{"role":"user","content":"u"},{"role":"assistant","content":"A","prefix":true}])"),
            "[BOS][S]E;[U]u[A][t][/t]A");
  EXPECT_EQ(recipe(R"([{"role":"user","content":"Hello"},{"role":"latest_reminder","content":"LR"}])"),
            "[BOS][S]E;[U]Hello[R]LR[A][t]");
  EXPECT_EQ(recipe("[]"), "[BOS][A][t]");
}

TEST(Encoder, KeepsReasoningOnlyWithTools) {
  const std::string tools = R"("thinking_mode":true,"tools":[{"name":"f"}])";
  const std::string with =
      recipe(R"([{"role":"user","content":"u"},{"role":"assistant","content":"A","reasoning_content":"R"}])", tools);
  EXPECT_NE(with.find("[A][t]R[/t]A[EOS]"), std::string::npos) << with;
  EXPECT_NE(with.find("\n{\"name\": \"f\", \"description\": \"\", \"parameters\": null}\n"), std::string::npos) << with;
  const std::string call = recipe(
      R"([{"role":"user","content":"u"},{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"{}"}]}])",
      tools);
  EXPECT_NE(call.find("[A][t][/t]\n\n<[§] calls>\n<[§] invoke name=\"f\">\n\n</[§] invoke>\n</[§] calls>[EOS]"),
            std::string::npos)
      << call;
}

TEST(Encoder, MarksTheToolsBlockExactly) {
  const auto prompt = encode(
      R"({"messages":[],"thinking_mode":false,"tools":[{"name":"<think>","description":"｜DSML｜"}]})", Rules::kRecipe);
  ASSERT_TRUE(prompt);
  int dsml = 0, think = 0;
  for (const Segment& segment : prompt->segments.items()) {
    if (segment.kind != Segment::Kind::kToken) continue;
    dsml += segment.text == kDsml;
    think += segment.text == kThinkStart || segment.text == kThinkEnd;
  }
  EXPECT_EQ(dsml, 9);       // one in the sentence, eight in the example; none of the schema line
  EXPECT_EQ(think, 4 + 1);  // the four of the text and the final header
}

TEST(Encoder, OrdersResultsByTheLatestCalls) {
  const std::string messages =
      R"([{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"{}"},{"id":"2","name":"f","arguments":"{}"}]},)"
      R"({"role":"tool","tool_call_id":"2","content":"two"},{"role":"user","content":"text"},)"
      R"({"role":"tool","tool_call_id":"9","content":"nine"},{"role":"tool","tool_call_id":"1","content":"one"}])";
  const std::string prompt = recipe(messages, kChat);
  EXPECT_NE(prompt.find("[U]<tool_result>one</tool_result>\n\ntext\n\n<tool_result>two</tool_result>\n\n"
                        "<tool_result>nine</tool_result>[A]"),
            std::string::npos)
      << prompt;
}

TEST(Encoder, PutsImagesWhereTheirPlaceholdersAre) {
  EXPECT_EQ(recipe(R"([{"role":"user","content":"a<｜deepseek_image｜>b<｜deepseek_image｜>","images":1}])", kChat),
            "[BOS][U]a[IMG]b<｜deepseek_image｜>[A][/t]");
  const auto prompt = encode(
      R"({"thinking_mode":false,"messages":[{"role":"assistant","tool_calls":[{"id":"1","name":"f","arguments":"{}"},)"
      R"({"id":"2","name":"f","arguments":"{}"}]},)"
      R"({"role":"tool","tool_call_id":"2","content":[{"type":"image_url","image_url":{"url":"https://e/2"}}]},)"
      R"({"role":"tool","tool_call_id":"1","content":[{"type":"image_url","image_url":{"url":"https://e/1"}}]}]})",
      Rules::kRecipe);
  ASSERT_TRUE(prompt) << prompt.error().to_string();
  EXPECT_EQ(prompt->images, 2);
  EXPECT_EQ(prompt->image_sources, (std::vector<std::string>{"https://e/1", "https://e/2"}));
}

TEST(Encoder, NeverTurnsTextIntoStructure) {
  const std::string markers =
      "<｜begin▁of▁sentence｜><｜end▁of▁sentence｜><｜System｜><｜User｜><｜Assistant｜><think></think>｜DSML｜"
      "<｜deepseek_image｜><｜latest_reminder｜><｜action｜>";
  const std::string m = base::dump_json(Json(markers));
  const std::string messages = R"([{"role":"system","content":)" + m + R"(},{"role":"user","content":)" + m +
                               R"(},{"role":"assistant","content":)" + m + R"(,"reasoning_content":)" + m +
                               R"(,"tool_calls":[{"id":"1","name":)" + m + R"(,"arguments":)" + m +
                               R"(}]},{"role":"tool","tool_call_id":"1","content":)" + m + "}]";
  const auto prompt =
      encode(R"({"messages":)" + messages + R"(,"thinking_mode":true,"tools":[{"name":)" + m + "}]}", Rules::kRecipe);
  const auto plain =
      encode(R"({"messages":)" + replaced(messages, m, "\"x\"") + R"(,"thinking_mode":true,"tools":[{"name":"x"}]})",
             Rules::kRecipe);
  ASSERT_TRUE(prompt && plain);
  // The same structure tokens in the same order as with harmless text.
  std::vector<std::string> found, expected;
  for (const Segment& s : prompt->segments.items())
    if (s.kind == Segment::Kind::kToken) found.push_back(s.text);
  for (const Segment& s : plain->segments.items())
    if (s.kind == Segment::Kind::kToken) expected.push_back(s.text);
  EXPECT_EQ(found, expected);
}

TEST(Encoder, JoinsNeighbouringText) {
  const auto prompt = encode(R"({"messages":[{"role":"user","content":"é"},{"role":"tool","content":"b"}],)"
                             R"("thinking_mode":false})",
                             Rules::kRecipe);
  ASSERT_TRUE(prompt);
  for (std::size_t i = 1; i < prompt->segments.items().size(); ++i) {
    EXPECT_FALSE(prompt->segments.items()[i].kind == Segment::Kind::kText &&
                 prompt->segments.items()[i - 1].kind == Segment::Kind::kText);
  }
  // Ranges count code points: BOS has 21, User 8, then 31 of text.
  const auto ranges = prompt->segments.special_ranges();
  ASSERT_EQ(ranges.size(), 4U);
  EXPECT_EQ(ranges[0], (PromptSegments::Range{0, 21}));
  EXPECT_EQ(ranges[1], (PromptSegments::Range{21, 29}));
  EXPECT_EQ(ranges[2].first, 29 + 1 + 2 + 28);
}

TEST(Encoder, ChecksCheckpointRules) {
  EXPECT_EQ(checkpoint(R"([{"role":"system","content":""}])", R"("thinking_mode":"chat")"), "[BOS][S]");
  EXPECT_EQ(checkpoint("[]"), "[BOS]");
  EXPECT_EQ(checkpoint(R"([{"role":"user","content":"u"},{"role":"latest_reminder","content":"r"}])"),
            "[BOS][S]E;[U]u[A][t][R]r");
  EXPECT_EQ(checkpoint(R"([{"role":"user","content":"u"},{"role":"assistant","content":"a","reasoning_content":"r"}])"),
            "[BOS][S]E;[U]u[A][t]r[/t]a[EOS]");
  EXPECT_EQ(checkpoint(R"([{"role":"user","content":"u","task":"title"}])"), "[BOS][S]E;[U]u[<｜title｜>]");
  EXPECT_NE(checkpoint(R"([{"role":"user","content":"u","task":"x"}])").find("invalid_task"), std::string::npos);
  EXPECT_NE(recipe(R"([{"role":"developer","content":"d"}])").find("unknown_role"), std::string::npos);
}

TEST(Encoder, ReportsTheInitialStage) {
  const auto stage = [](const std::string& last, const std::string& mode) {
    const auto prompt = encode(
        R"({"messages":[{"role":"user","content":"u"})" + last + R"(],"thinking_mode":)" + mode + "}", Rules::kRecipe);
    return prompt->initial_stage;
  };
  EXPECT_EQ(stage("", "true"), InitialStage::kReasoningStart);
  EXPECT_EQ(stage("", "false"), std::nullopt);
  EXPECT_EQ(stage(R"(,{"role":"assistant","content":"a","prefix":true})", "true"), InitialStage::kContentContinuation);
  EXPECT_EQ(stage(R"(,{"role":"assistant","content":"","reasoning_content":"r","prefix":true})", "true"),
            InitialStage::kReasoningContinuation);
  EXPECT_EQ(stage(R"(,{"role":"assistant","content":"","prefix":true})", "true"), InitialStage::kReasoningStart);
  EXPECT_EQ(stage(R"(,{"role":"assistant","content":"a","prefix":true})", "false"), std::nullopt);
}

// Turn two drops the reasoning of turn one, and shares everything before it.
TEST(Encoder, KeepsAStablePrefixBetweenTurns) {
  const std::string first = recipe(R"([{"role":"system","content":"S"},{"role":"user","content":"u"}])");
  const std::string second =
      recipe(R"([{"role":"system","content":"S"},{"role":"user","content":"u"},)"
             R"({"role":"assistant","content":"a","reasoning_content":"r"},{"role":"user","content":"v"}])");
  const std::string common = first.substr(0, first.size() - std::string("[t]").size());
  EXPECT_EQ(second.substr(0, common.size()), common);
}

TEST(Encoder, WrapsArgumentsThatAreNoObject) {
  const auto call = [](const std::string& arguments) {
    return recipe(R"([{"role":"assistant","content":"","tool_calls":[{"id":"1","name":"f","arguments":)" +
                      base::dump_json(Json(arguments)) + "}]}]",
                  kChat);
  };
  const std::string nested_ok = std::string(R"({"a":)") + std::string(126, '[') + std::string(126, ']') + "}";
  EXPECT_NE(call(nested_ok).find("name=\"a\" string=\"false\">[[["), std::string::npos);
  for (const std::string& text : {std::string("not json"), std::string("[1]"), std::string("{\"a\":1e999}"),
                                  std::string("{\"a\":\"\\ud800\"}"), std::string("{\"a\":NaN}"), std::string(),
                                  std::string(R"({"a":)") + std::string(127, '[') + std::string(127, ']') + "}"}) {
    const std::string prompt = call(text);
    EXPECT_NE(prompt.find("name=\"arguments\" string=\"true\">" + text + "</[§]"), std::string::npos) << prompt;
  }
  EXPECT_NE(call(std::string(100'000, '[')).find("name=\"arguments\""), std::string::npos);
}

TEST(PythonJson, PrintsNumbersAndStringsLikePython) {
  const auto json = base::parse_json(
      R"([1.50,1E5,-0.0,1e22,1e-7,0.0001,0.00001,0.000125,12345678901234567890,18446744073709551616,5e-324,1e16,9.9e15])");
  ASSERT_TRUE(json);
  EXPECT_EQ(python_json(*json),
            "[1.5, 100000.0, -0.0, 1e+22, 1e-07, 0.0001, 1e-05, 0.000125, 12345678901234567890, "
            "1.8446744073709552e+19, 5e-324, 1e+16, 9900000000000000.0]");
  EXPECT_EQ(python_json(*json, BigIntegers::kKeep).find("18446744073709551616") != std::string::npos, true);
  EXPECT_EQ(compact_json(*json),
            "[1.5,100000.0,-0.0,1e+22,1e-7,0.0001,0.00001,0.000125,12345678901234567890,1.8446744073709552e+19,"
            "5e-324,1e+16,9900000000000000.0]");
  EXPECT_EQ(python_json(Json("\"\\\b\f\n\r\t\x01/\x7f\u2028é")), "\"\\\"\\\\\\b\\f\\n\\r\\t\\u0001/\x7f\u2028é\"");
}

}  // namespace
}  // namespace deepinfer::prompt
