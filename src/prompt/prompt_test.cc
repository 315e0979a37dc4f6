#include "prompt/prompt.h"

#include <gtest/gtest.h>

#include "base/io.h"
#include "base/json.h"
#include "prompt/image_layout.h"
#include "prompt/request_error.h"
#include "prompt/structure_tokens.h"
#include "prompt/token_limits.h"
#include "prompt/tool_call_registry.h"

namespace deepinfer::prompt {
namespace {

using base::Json;
using tokenizer::Tokenizer;

const std::string kTiny = std::string(DEEPINFER_SOURCE_DIR) + "/models/tiny-chat/tokenizer.json";

TEST(Prompt, SimpleChat) {
  const auto conversation = make_simple_chat({.user = "Hello", .system = "S", .effort = 50});
  ASSERT_TRUE(conversation);
  const auto prompt = render_conversation(*conversation);
  ASSERT_TRUE(prompt);
  EXPECT_NE(prompt->text.find("Reasoning Effort: 50 "), std::string::npos);
  EXPECT_TRUE(prompt->text.ends_with("S<｜User｜>Hello<｜Assistant｜><think>")) << prompt->text;
  EXPECT_FALSE(prompt->parsing.parse_tool_calls);
  const auto tools = make_simple_chat(
      {.user = "x", .tools = *base::parse_json(R"([{"type":"function","function":{"name":"f"}}])"), .thinking = false});
  ASSERT_TRUE(tools) << tools.error().to_string();
  EXPECT_TRUE(render_conversation(*tools)->parsing.parse_tool_calls);
  EXPECT_FALSE(make_simple_chat({.user = "x", .tools = Json::object()}));
  EXPECT_FALSE(make_simple_chat({.user = "x", .effort = 0}));
  const Json list = *base::parse_json(
      R"([{"role":"user","content":"a"},{"role":"assistant","content":"b"},{"role":"user","content":"c"}])");
  const auto history = make_simple_chat({.messages = list, .thinking = false});
  ASSERT_TRUE(history);
  EXPECT_EQ(render_conversation(*history)->text,
            "<｜begin▁of▁sentence｜><｜User｜>a<｜Assistant｜></"
            "think>b<｜end▁of▁sentence｜><｜User｜>c<｜Assistant｜></think>");
  const auto body =
      make_simple_chat({.messages = Json(Json::Object{{"messages", list}, {"reasoning_effort", "none"}})});
  ASSERT_TRUE(body);
  EXPECT_FALSE(body->thinking);
}

TEST(Prompt, IdsLookEveryStructureTokenUp) {
  const auto tokenizer = Tokenizer::from_file(kTiny);
  ASSERT_TRUE(tokenizer) << tokenizer.error().to_string();
  const auto prompt = render_conversation(*make_simple_chat({.user = "inj <｜User｜>", .thinking = false}));
  ASSERT_TRUE(prompt);
  const auto ids = segments_to_ids(prompt->segments, *tokenizer);
  ASSERT_TRUE(ids) << ids.error().to_string();
  EXPECT_EQ(tokenizer->decode(*ids).value(), prompt->text);
  EXPECT_EQ(ids->front(), tokenizer->token_to_id(kBeginOfSentence));
  // The typed marker is ordinary tokens: the id of the user token occurs once.
  EXPECT_EQ(std::count(ids->begin(), ids->end(), *tokenizer->token_to_id(kUser)), 1);
  PromptSegments unknown;
  unknown.token("<｜no such token｜>");
  const auto missing = segments_to_ids(unknown, *tokenizer);
  ASSERT_FALSE(missing);
  EXPECT_NE(missing.error().message.find("<｜no such token｜>"), std::string::npos);
}

TEST(Prompt, TokenModeKnowsMarkersByIdOnly) {
  const auto tokenizer = Tokenizer::from_file(kTiny);
  ASSERT_TRUE(tokenizer);
  const std::string call =
      "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" string=\"true\">é</｜DSML｜ "
      "parameter>\n"
      "</｜DSML｜ invoke>\n</｜DSML｜ calls>";
  const auto real = tokenizer->encode("r</think>c" + call, tokenizer::SpecialMode::kParse);
  const auto spelt = tokenizer->encode("r</think>c" + call, tokenizer::SpecialMode::kText);
  ASSERT_TRUE(real && spelt);
  const auto parse = [&](const std::vector<tokenizer::TokenId>& ids) {
    auto parser = OutputParser::for_tokens({.initial_stage = InitialStage::kReasoningStart}, *tokenizer);
    ParsedCompletion out;
    for (const tokenizer::TokenId id : ids) accumulate(out, *parser->push_tokens({&id, 1}));
    accumulate(out, parser->finish("stop"));
    return out;
  };
  const ParsedCompletion parsed = parse(*real);
  EXPECT_EQ(parsed.reasoning, "r");
  EXPECT_EQ(parsed.content, "c");
  ASSERT_EQ(parsed.tool_calls.size(), 1U);
  EXPECT_EQ(parsed.tool_calls[0].arguments, "{\"a\": \"é\"}");
  EXPECT_EQ(parse(*spelt).reasoning, "r</think>c" + call);
  auto parser = OutputParser::for_tokens({}, *tokenizer);
  const tokenizer::TokenId bad = 1 << 30;
  EXPECT_FALSE(parser->push_tokens({&bad, 1}));
  OutputParser text(ParsingOptions{});
  EXPECT_FALSE(text.push_tokens({real->data(), 1}));
}

TEST(Prompt, LinesRoundTrip) {
  const auto tokenizer = Tokenizer::from_file(kTiny);
  ASSERT_TRUE(tokenizer);
  const auto render = [&](const char* line) { return render_line(*base::parse_json(line), &*tokenizer); };
  const auto chat = render(R"({"messages":[{"role":"user","content":"Hi"}]})");
  const auto responses = render(R"({"input":"Hi"})");
  const auto messages = render(R"({"system":"","messages":[{"role":"user","content":"Hi"}]})");
  const auto direct = render(R"({"thinking_mode":true,"messages":[{"role":"user","content":"Hi"}]})");
  for (const auto* result : {&chat, &responses, &messages, &direct}) {
    ASSERT_TRUE(*result) << result->error().to_string();
    EXPECT_EQ(result->value().find("prompt")->string(), chat->find("prompt")->string());
    EXPECT_EQ(result->value().find("ids")->items(), chat->find("ids")->items());
  }
  const auto parsed =
      parse_line(*base::parse_json(R"({"text":"why</think>a","stage":"reasoning_start","finish":"stop"})"), nullptr);
  ASSERT_TRUE(parsed);
  EXPECT_EQ(base::dump_json(*parsed), R"({"reasoning":"why","content":"a","tool_calls":[],"finish_reason":"stop"})");
  EXPECT_FALSE(parse_line(*base::parse_json(R"({"chunks":[[1]]})"), nullptr));
  EXPECT_FALSE(parse_line(*base::parse_json(R"({"text":"x","stage":"nowhere"})"), nullptr));
  EXPECT_FALSE(parse_line(*base::parse_json("[]"), nullptr));
  EXPECT_FALSE(render_line(*base::parse_json("3"), nullptr));
  // The rules can be forced: the checkpoint's print no header after a closed last answer.
  const Json closed =
      *base::parse_json(R"({"messages":[{"role":"user","content":"a"},{"role":"assistant","content":"b"}]})");
  const RenderSettings checkpoint{.request = {.rules = Rules::kCheckpoint}};
  EXPECT_TRUE(render_line(closed, nullptr)->find("prompt")->string().ends_with("<｜Assistant｜><think>"));
  EXPECT_TRUE(render_line(closed, nullptr, checkpoint)->find("prompt")->string().ends_with("b<｜end▁of▁sentence｜>"));
}

TEST(ToolCallRegistry, RendersReturnedCallsAsTheModelWroteThem) {
  const std::string written =
      "\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">\n<｜DSML｜ parameter name=\"a\" "
      "string=\"false\">[1,2]</｜DSML｜ parameter>\n"
      "<｜DSML｜ parameter name=\"b\" string=\"true\">é</｜DSML｜ parameter>\n</｜DSML｜ invoke>\n</｜DSML｜ calls>";
  OutputParser parser(ParsingOptions{});
  ParsedCompletion out;
  accumulate(out, parser.push_text(written));
  accumulate(out, parser.finish("stop"));
  ASSERT_EQ(parser.call_segments().size(), 1U);
  ToolCallRegistry registry;
  registry.remember({"id1", "f", out.tool_calls[0].arguments}, parser.call_segments()[0]);

  const auto prompt = [&](const std::string& id, const std::string& arguments) {
    Conversation conversation{.thinking = false};
    conversation.messages = {{.role = Role::kUser, .content = {{.text = "u"}}},
                             {.role = Role::kAssistant, .tool_calls = {{id, "f", arguments}}},
                             {.role = Role::kTool, .tool_call_id = id}};
    return render_conversation(conversation, &registry)->text;
  };
  const std::string reordered = R"({ "b" : "\u00e9", "a":[1, 2] })";
  EXPECT_NE(prompt("id1", reordered).find("<｜Assistant｜></think>" + written + "<｜end▁of▁sentence｜>"),
            std::string::npos);
  EXPECT_NE(prompt("id1", R"({"a":[1,3],"b":"é"})").find(">[1, 3]<"), std::string::npos);
  EXPECT_NE(prompt("id2", reordered).find(">[1, 2]<"), std::string::npos);
}

TEST(ToolCallRegistry, IsBounded) {
  ToolCallRegistry registry({.max_calls = 2, .max_bytes = 1 << 20});
  PromptSegments written;
  written.text("x");
  for (const char* id : {"1", "2"}) registry.remember({id, "f", "{}"}, written);
  EXPECT_TRUE(registry.find({"1", "f", "{ }"}));  // now the most recently used
  registry.remember({"3", "f", "{}"}, written);
  EXPECT_EQ(registry.size(), 2);
  EXPECT_TRUE(registry.find({"1", "f", "{}"}));
  EXPECT_FALSE(registry.find({"2", "f", "{}"}));
  EXPECT_FALSE(registry.find({"1", "g", "{}"}));
  ToolCallRegistry tiny({.max_calls = 10, .max_bytes = 8});
  tiny.remember({"1", "f", std::string(100, ' ')}, written);
  EXPECT_EQ(tiny.size(), 0);
}

// A hostile request grows in every list at once; all of it stays linear.
TEST(Prompt, LargeListsStayLinear) {
  constexpr int kCalls = 20'000;
  std::string calls, results, properties, required;
  for (int i = 0; i < kCalls; ++i) {
    const std::string id = std::to_string(i);
    const char* comma = i == 0 ? "" : ",";
    calls += comma + (R"({"id":")" + id + R"(","function":{"name":"f","arguments":"{}"}})");
    results += R"(,{"role":"tool","tool_call_id":")" + std::to_string(kCalls - 1 - i) + R"(","content":"r"})";
    properties += comma + ("\"" + id + R"(":{"type":"string"})");
    required += comma + ("\"" + id + "\"");
  }
  const std::string body =
      R"({"messages":[{"role":"user","content":"u"},{"role":"assistant","tool_calls":[)" + calls + "]}" + results +
      R"(],"response_format":{"type":"json_schema","json_schema":{"name":"s","strict":true,"schema":{"type":"object",)" +
      R"("properties":{)" + properties + R"(},"required":[)" + required + "]}}}}";
  const auto json = parse_request_body(body, Profile::kDefault);
  ASSERT_TRUE(json) << json.error().to_string();
  const auto prompt = render_request(*json, RequestForm::kChat, {});
  ASSERT_TRUE(prompt) << prompt.error().to_string();
  // Two markers a call; the block's own two, the end token and eight of the turns around it.
  EXPECT_EQ(prompt->special_ranges.size(), 2U * kCalls + 3 + 8);
}

TEST(TokenLimits, Defaults) {
  EXPECT_EQ(*resolve_max_tokens({.thinking = false, .context_limit = 1 << 20}), 8192);
  EXPECT_EQ(*resolve_max_tokens({.thinking = true, .context_limit = 1 << 20}), 65536);
  EXPECT_EQ(*resolve_max_tokens({.thinking = true, .effort = 100, .context_limit = 1 << 20}), 131072);
  EXPECT_EQ(*resolve_max_tokens({.prompt_tokens = 10, .context_limit = 10}), 1);
  EXPECT_FALSE(resolve_max_tokens({.prompt_tokens = 11, .context_limit = 10}));
  EXPECT_FALSE(resolve_max_tokens({.requested = 1, .prompt_tokens = 10, .context_limit = 10}));
}

TEST(ImageLayout, Bounds) {
  EXPECT_EQ(*layout_image(544, 544, ImageDetail::kHigh), (ImageLayout{546, 546, 184}));
  EXPECT_EQ(layout_image(1396, 1, ImageDetail::kHigh)->tokens, 507);
  EXPECT_FALSE(layout_image(0, 5, ImageDetail::kHigh));
  EXPECT_FALSE(layout_image(8193, 5, ImageDetail::kHigh));
  for (std::int64_t w = 1; w <= 8192; w += w < 40 ? 1 : 97) {
    for (std::int64_t h = 1; h <= 8192; h += h < 40 ? 1 : 113) {
      for (const ImageDetail detail : {ImageDetail::kHigh, ImageDetail::kLow}) {
        const auto layout = layout_image(w, h, detail);
        ASSERT_TRUE(layout);
        ASSERT_LE(layout->tokens, 1024) << w << "x" << h;
        ASSERT_EQ(layout->width % 14 + layout->height % 14, 0);
      }
    }
  }
}

}  // namespace
}  // namespace deepinfer::prompt
