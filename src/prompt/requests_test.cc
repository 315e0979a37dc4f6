#include "prompt/requests.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "prompt/prompt.h"
#include "prompt/request_error.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

const RequestSettings kOfficial{.profile = Profile::kOfficial};
const RequestSettings kDefault{.profile = Profile::kDefault};

Result<RenderedPrompt> render(RequestForm form, const std::string& body, const RequestSettings& settings) {
  const auto json = parse_request_body(body, settings.profile);
  if (!json) return tl::unexpected(json.error());
  return render_request(*json, form, settings);
}
std::string kind_of(RequestForm form, const std::string& body, const RequestSettings& settings) {
  const auto prompt = render(form, body, settings);
  return prompt ? "" : describe_request_error(prompt.error()).kind;
}
std::string chat(const std::string& fields) { return R"({"messages":[{"role":"user","content":"x"}],)" + fields + "}"; }

constexpr const char* kTool = R"("tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}])";

// Each deviation of the default profile beside the official refusal.
TEST(Requests, DefaultProfileDeviatesWhereListed) {
  const struct {
    std::string body;
    std::string official_kind;
  } kCases[] = {
      {chat(R"("reasoning_effort":37)"), "body_invalid_type"},
      {R"({"messages":[{"role":"developer","content":"x"}]})", "body_unknown_variant"},
      {chat(std::string(kTool) + R"(,"tool_choice":"required")"), "tool_choice_in_thinking_mode"},
      {chat(R"("response_format":{"type":"json_object"})"), "json_object_needs_word_json"},
      {chat(R"("n":16)"), "n"},
      {chat(R"("stop":["1","2","3","4","5","6","7","8","9","10","11","12","13","14","15","16","17"])"), "stop"},
      {R"({"messages":[{"role":"user","content":"x"},{"role":"assistant","reasoning_content":"r"}]})",
       "assistant_without_content"},
  };
  for (const auto& c : kCases) {
    EXPECT_EQ(kind_of(RequestForm::kChat, c.body, kOfficial), c.official_kind) << c.body;
    EXPECT_EQ(kind_of(RequestForm::kChat, c.body, kDefault), "") << c.body;
  }
  EXPECT_EQ(kind_of(RequestForm::kChat, R"({"messages":[],"messages":[{"role":"user","content":"x"}]})", kOfficial),
            "");
  EXPECT_EQ(kind_of(RequestForm::kChat, R"({"messages":[],"messages":[{"role":"user","content":"x"}]})", kDefault),
            "body_json");
  EXPECT_EQ(kind_of(RequestForm::kResponses, R"({"input":"x","previous_response_id":"r"})", kDefault),
            "unsupported_value");
}

TEST(Requests, DefaultProfileHonoursSampling) {
  const std::string body = chat(R"("temperature":0.3,"top_p":0.5,"max_tokens":9,"max_completion_tokens":7)");
  const auto ours = render(RequestForm::kChat, body, kDefault);
  const auto official = render(RequestForm::kChat, body, kOfficial);
  ASSERT_TRUE(ours && official);
  EXPECT_FLOAT_EQ(ours->inference.temperature, 0.3F);
  EXPECT_FLOAT_EQ(ours->inference.top_p, 0.5F);
  EXPECT_EQ(ours->inference.max_tokens, 7);
  EXPECT_FLOAT_EQ(official->inference.temperature, 1.0F);
  EXPECT_FLOAT_EQ(official->inference.top_p, 0.95F);
  EXPECT_EQ(official->inference.max_tokens, 9);
}

TEST(Requests, IntegerEffortAndDeveloperUseTheCheckpointRules) {
  const auto effort = render(RequestForm::kChat, chat(R"("reasoning_effort":37)"), kDefault);
  ASSERT_TRUE(effort);
  EXPECT_NE(effort->text.find("Reasoning Effort: 37 "), std::string::npos);
  const auto developer = render(RequestForm::kChat, R"({"messages":[{"role":"developer","content":"dev"}]})", kDefault);
  ASSERT_TRUE(developer);
  EXPECT_NE(developer->text.find("<｜User｜>dev<｜Assistant｜><think>"), std::string::npos);
  EXPECT_EQ(developer->parsing.initial_stage, InitialStage::kReasoningStart);
  for (const char* value : {"0", "101", "2.5", "-1"}) {
    EXPECT_EQ(kind_of(RequestForm::kChat, chat(std::string(R"("reasoning_effort":)") + value), kDefault),
              "reasoning_effort");
  }
}

TEST(Requests, AnyForcesACallThroughTheGrammarOnly) {
  const std::string body =
      R"({"messages":[{"role":"user","content":"x"}],"tools":[{"name":"f","input_schema":{"type":"object"}}],)"
      R"("tool_choice":{"type":"any"},"thinking":{"type":"disabled"}})";
  const auto ours = render(RequestForm::kMessages, body, kDefault);
  const auto official = render(RequestForm::kMessages, body, kOfficial);
  ASSERT_TRUE(ours && official);
  EXPECT_EQ(ours->text, official->text);
  EXPECT_EQ(ours->inference.constraint->kind, "tool_call_required");
  EXPECT_EQ(official->inference.constraint->kind, "tool_call");
}

// The model thinks freely; the grammar forces the opener after the reasoning.
TEST(Requests, ForcedCallWhileThinkingLeavesThePromptOpen) {
  const std::string named = R"(,"tool_choice":{"type":"function","function":{"name":"f"}})";
  const auto thinking = render(RequestForm::kChat, chat(kTool + named), kDefault);
  ASSERT_TRUE(thinking) << thinking.error().to_string();
  EXPECT_TRUE(thinking->text.ends_with("<think>"));
  EXPECT_FALSE(thinking->parsing.starts_in_tool_calls);
  EXPECT_EQ(thinking->inference.constraint->kind, "tool_call_required");
  EXPECT_EQ(thinking->inference.constraint->tool, "f");
  const auto off = render(RequestForm::kChat, chat(kTool + named + R"(,"thinking":{"type":"disabled"})"), kDefault);
  ASSERT_TRUE(off);
  EXPECT_TRUE(off->text.ends_with("</think>\n\n<｜DSML｜ calls>\n"));
  EXPECT_TRUE(off->parsing.starts_in_tool_calls);
}

TEST(Requests, ToolNamesAreNarrowInTheDefaultProfile) {
  const auto tool = [](const std::string& name) {
    return chat(R"("tools":[{"type":"function","function":{"name":")" + name + R"("}}])");
  };
  EXPECT_EQ(kind_of(RequestForm::kChat, tool("a.b_c-9"), kDefault), "");
  EXPECT_EQ(kind_of(RequestForm::kChat, tool(std::string(128, 'n')), kDefault), "");
  EXPECT_EQ(kind_of(RequestForm::kChat, tool(std::string(129, 'n')), kDefault), "function_name");
  EXPECT_EQ(kind_of(RequestForm::kChat, tool("f>"), kDefault), "function_name");
  EXPECT_EQ(kind_of(RequestForm::kChat, tool("f>"), kOfficial), "");
}

TEST(Requests, ErrorsNameFieldAndStatus) {
  const auto prompt = render(RequestForm::kChat, chat(R"("temperature":2.5)"), kDefault);
  ASSERT_FALSE(prompt);
  const RequestError error = describe_request_error(prompt.error());
  EXPECT_EQ(error.status, 400);
  EXPECT_EQ(error.kind, "temperature");
  EXPECT_EQ(error.param, "temperature");
  EXPECT_NE(prompt.error().message.find("2.5"), std::string::npos);
  const auto model = render(RequestForm::kChat, chat(R"("model":"gpt-x")"),
                            {.profile = Profile::kDefault, .served_models = {"served"}});
  ASSERT_FALSE(model);
  EXPECT_EQ(describe_request_error(model.error()).status, 404);
  EXPECT_NE(model.error().message.find("served"), std::string::npos);
  const auto nested =
      render(RequestForm::kChat, R"({"messages":[{"role":"user","content":[{"type":"text"}]}]})", kDefault);
  EXPECT_EQ(describe_request_error(nested.error()).param, "messages[0].content[0].text");
}

// Every value of a wrong JSON type in every field of every form is refused or ignored, never fatal.
TEST(Requests, SurviveWrongTypesEverywhere) {
  const char* values[] = {"null", "true", "1", "-1", "1.5", "\"x\"", "[]", "[1]", "{}", "{\"type\":1}", "[[[]]]"};
  const char* fields[] = {
      "model", "messages",     "tools",      "tool_choice", "thinking", "reasoning_effort", "response_format", "stop",
      "n",     "seed",         "max_tokens", "temperature", "top_p",    "logprobs",         "top_logprobs",    "stream",
      "input", "instructions", "reasoning",  "text",        "system",   "output_config",    "stop_sequences"};
  int refused = 0;
  for (const RequestForm form : {RequestForm::kChat, RequestForm::kResponses, RequestForm::kMessages}) {
    for (const char* field : fields) {
      for (const char* value : values) {
        Json body = *base::parse_json(R"({"messages":[{"role":"user","content":"x"}],"input":"x"})");
        body.set(field, *base::parse_json(value));
        const auto prompt = render_request(body, form, kDefault);
        if (prompt) continue;
        ++refused;
        EXPECT_EQ(prompt.error().code, ErrorCode::kInvalidArgument) << field << "=" << value;
        EXPECT_NE(describe_request_error(prompt.error()).kind, "invalid_value") << field << "=" << value;
      }
    }
  }
  EXPECT_GT(refused, 200);
}

TEST(Requests, ResponsesTextAndCallAreOneTurn) {
  const auto prompt = render(
      RequestForm::kResponses,
      R"({"instructions":"S","input":[{"role":"user","content":"x"},{"type":"reasoning","summary":[{"type":"summary_text","text":"why"}]},)"
      R"({"role":"assistant","content":"hm"},{"type":"function_call","call_id":"1","name":"f","arguments":"{}"},)"
      R"({"type":"function_call_output","call_id":"1","output":"o"}],"tools":[{"type":"function","name":"f"}]})",
      kOfficial);
  ASSERT_TRUE(prompt) << prompt.error().to_string();
  EXPECT_NE(prompt->text.find("<｜Assistant｜><think>why</think>hm\n\n<｜DSML｜ calls>"), std::string::npos);
}

}  // namespace
}  // namespace deepinfer::prompt
