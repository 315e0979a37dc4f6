#include "prompt/output_parser.h"

#include <gtest/gtest.h>

#include <random>

#include "base/io.h"
#include "base/json.h"
#include "prompt/dsv41_encoder.h"
#include "prompt/prompt.h"
#include "prompt/python_json.h"
#include "prompt/strict_parser.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

const std::string kGolden = std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/encoding/parse_text.jsonl";

struct Fixture {
  std::string id, text, finish;
  ParsingOptions options;
};

std::vector<Fixture> fixtures() {
  std::vector<Fixture> out;
  const std::string file = *base::read_file(kGolden);
  std::size_t begin = 0;
  for (std::size_t end; (end = file.find('\n', begin)) != std::string::npos; begin = end + 1) {
    const Json row = *base::parse_json(file.substr(begin, end - begin));
    const Json& input = *row.find("input");
    Fixture f{row.find("id")->string(), input.find("text")->string(), input.find("finish")->string(), {}};
    if (const Json* options = input.find("options")) f.options = *read_parsing_options(*options);
    f.options.initial_stage = *read_stage(*input.find("initial_stage"));
    out.push_back(std::move(f));
  }
  return out;
}

// Splits at code points only, as a detokenizer would.
std::vector<std::string> code_points(const std::string& text) {
  std::vector<std::string> out;
  for (const char c : text) {
    if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) out.emplace_back();
    out.back() += c;
  }
  return out;
}

ParsedCompletion parse(const Fixture& f, const std::vector<std::string>& chunks) {
  ParsedCompletion out;
  OutputParser parser(f.options);
  for (const std::string& chunk : chunks) accumulate(out, parser.push_text(chunk));
  accumulate(out, parser.finish(f.finish));
  return out;
}

bool is_prefix(const ParsedCompletion& part, const ParsedCompletion& whole) {
  if (!whole.reasoning.starts_with(part.reasoning) || !whole.content.starts_with(part.content)) return false;
  if (part.tool_calls.size() > whole.tool_calls.size()) return false;
  for (std::size_t i = 0; i < part.tool_calls.size(); ++i) {
    if (part.tool_calls[i].name != whole.tool_calls[i].name) return false;
    if (!whole.tool_calls[i].arguments.starts_with(part.tool_calls[i].arguments)) return false;
  }
  return true;
}

TEST(OutputParser, EverySplitGivesTheSame) {
  std::int64_t splits = 0;
  for (const Fixture& f : fixtures()) {
    if (f.options.parse_json_output) continue;  // the number of spaces depends on the chunks by definition
    const ParsedCompletion whole = parse(f, {f.text});
    const auto points = code_points(f.text);
    EXPECT_EQ(parse(f, points), whole) << f.id;
    const std::size_t stride = std::max<std::size_t>(1, f.text.size() / 2000);
    for (std::size_t at = 1; at < points.size(); at += stride) {
      std::string left, right;
      for (std::size_t i = 0; i < points.size(); ++i) (i < at ? left : right) += points[i];
      ASSERT_EQ(parse(f, {left, right}), whole) << f.id << " split at " << at;
      ++splits;
    }
  }
  EXPECT_GT(splits, 20'000);
}

TEST(OutputParser, RandomChunksNeverEmitTooMuch) {
  std::mt19937 random(7);
  for (const Fixture& f : fixtures()) {
    if (f.options.parse_json_output) continue;
    const ParsedCompletion whole = parse(f, {f.text});
    const auto points = code_points(f.text);
    for (int round = 0; round < 3; ++round) {
      ParsedCompletion part;
      OutputParser parser(f.options);
      for (std::size_t i = 0; i < points.size();) {
        std::string chunk;
        for (std::size_t n = 1 + random() % 6; n > 0 && i < points.size(); --n) chunk += points[i++];
        accumulate(part, parser.push_text(chunk));
        ASSERT_TRUE(is_prefix(part, whole)) << f.id;
      }
      accumulate(part, parser.finish(f.finish));
      EXPECT_EQ(part, whole) << f.id;
    }
  }
}

// Random sequences of the pieces that matter, against the one-shot parse.
TEST(OutputParser, RandomMarkupSplitsLikeOneShot) {
  const std::vector<std::string> kPieces = {"<",
                                            "</",
                                            "｜DSML｜",
                                            "<｜DSML｜",
                                            "</｜DSML｜",
                                            " calls>",
                                            " invoke name=\"",
                                            " parameter name=",
                                            "\"a\"",
                                            "\"",
                                            " ",
                                            "string=\"true\">",
                                            "string=\"false\">",
                                            "\n",
                                            "\n\n",
                                            "</think>",
                                            "</thi",
                                            "x",
                                            "STOP",
                                            "ST",
                                            "é",
                                            "🙂",
                                            "{",
                                            "1"};
  std::mt19937 random(11);
  for (int round = 0; round < 4000; ++round) {
    Fixture f{"random", "", "stop", {}};
    f.options.initial_stage = random() % 2 ? std::optional(InitialStage::kReasoningStart) : std::nullopt;
    if (random() % 4 == 0) f.options.stop_sequences = {"STOP", "x\n"};
    f.options.parse_tool_calls = random() % 5 != 0;
    std::vector<std::string> chunks(1);
    for (int i = 0; i < 40; ++i) {
      f.text += kPieces[random() % kPieces.size()];
    }
    for (const std::string& point : code_points(f.text)) {
      if (random() % 3 == 0) chunks.emplace_back();
      chunks.back() += point;
    }
    ASSERT_EQ(parse(f, chunks), parse(f, {f.text})) << f.text;
  }
}

TEST(OutputParser, NothingFollowsAStopString) {
  OutputParser parser(ParsingOptions{.stop_sequences = {"STOP"}});
  const auto events = parser.push_text("aSTOP\n\n<｜DSML｜ calls>\n<｜DSML｜ invoke name=\"f\">");
  ASSERT_EQ(events.size(), 2U);
  EXPECT_EQ(events[0], (ParseEvent{ParseEvent::Kind::kContent, 0, "a"}));
  EXPECT_EQ(events[1], (ParseEvent{ParseEvent::Kind::kFinish, 0, "stop"}));
  EXPECT_TRUE(parser.finished());
  EXPECT_TRUE(parser.push_text("more").empty());
  EXPECT_TRUE(parser.finish("length").empty());
}

std::string block(const std::string& invokes) { return "\n\n<｜DSML｜ calls>\n" + invokes + "</｜DSML｜ calls>"; }
std::string invoke(const std::string& name, const std::string& body) {
  return "<｜DSML｜ invoke name=\"" + name + "\">\n" + body + "\n</｜DSML｜ invoke>\n";
}

TEST(OutputParser, ParsesManyCallsInSmallDeltas) {
  for (const int count : {1, 2, 20, 200}) {
    std::string invokes;
    for (int i = 0; i < count; ++i) {
      invokes += invoke("f" + std::to_string(i), "<｜DSML｜ parameter name=\"i\" string=\"false\">" +
                                                     std::to_string(i) + "</｜DSML｜ parameter>");
    }
    const Fixture f{"many", "c" + block(invokes), "stop", {}};
    for (std::size_t size = 1; size <= 16; ++size) {
      std::vector<std::string> chunks(1);
      std::size_t n = 0;
      for (const std::string& point : code_points(f.text)) {
        if (n++ % size == 0) chunks.emplace_back();
        chunks.back() += point;
      }
      const ParsedCompletion out = parse(f, chunks);
      ASSERT_EQ(out.tool_calls.size(), static_cast<std::size_t>(count));
      for (int i = 0; i < count; ++i) {
        EXPECT_EQ(out.tool_calls[static_cast<std::size_t>(i)].arguments, "{\"i\": " + std::to_string(i) + "}");
      }
      EXPECT_EQ(out.finish_reason, "tool_calls");
    }
  }
}

TEST(OutputParser, CountsWhatItDrops) {
  OutputParser parser(ParsingOptions{});
  parser.push_text(
      "c" + block("junk" + invoke("f", "<｜DSML｜ parameter name=\"a\" string=\"false\">oops</｜DSML｜ parameter>")) +
      "tail");
  parser.finish("stop");
  EXPECT_GE(parser.dropped_bytes(), 8);
  EXPECT_EQ(parser.invalid_values(), 1);
  OutputParser clean(ParsingOptions{});
  clean.push_text("plain <b> text");
  clean.finish("stop");
  EXPECT_EQ(clean.dropped_bytes(), 0);
}

TEST(OutputParser, Options) {
  const std::string text = block("<｜DSML｜ invoke name=\"f\">\n{\"a\": [1, 2]}\n</｜DSML｜ invoke>\n");
  EXPECT_EQ(parse_completion(text, "stop", {}).tool_calls[0].arguments, "{}");
  EXPECT_EQ(parse_completion(text, "stop", {.accept_json_invoke = true}).tool_calls[0].arguments, "{\"a\": [1, 2]}");
  const ParsingOptions fallback{.initial_stage = InitialStage::kReasoningStart, .reasoning_fallback = true};
  EXPECT_EQ(parse_completion("why\n", "stop", fallback).content, "why\n");
  EXPECT_EQ(parse_completion("why\n", "length", fallback).content, "");
  EXPECT_EQ(parse_completion("why</think>a", "stop", fallback).content, "a");
}

// Linear in the input: ten times the text takes about ten times as long, so a few megabytes pass at once.
TEST(OutputParser, StaysLinearOnHostileText) {
  for (const std::string& unit :
       {std::string("\n"), std::string("<"), std::string("</think>"), std::string("</"), std::string("<｜DSML｜"),
        std::string("\""), std::string("["), std::string("<｜DSML｜ invoke name=\"f\">")}) {
    std::string text = "<｜DSML｜ calls>";
    for (const bool inside : {false, true}) {
      OutputParser parser(ParsingOptions{.stop_sequences = {"\n\n\n\n\n\n\n\nX", "</think></think>Y"}});
      if (inside)
        parser.push_text(text + "<｜DSML｜ invoke name=\"f\"><｜DSML｜ parameter name=\"a\" string=\"true\">");
      std::string chunk;
      for (int i = 0; i < 20'000; ++i) chunk += unit;
      for (int i = 0; i < 10; ++i) parser.push_text(chunk);
      for (int i = 0; i < 20'000; ++i) parser.push_text(unit);
      parser.finish("stop");
    }
  }
}

TEST(StrictParser, EncodingAParsedCallIsTheIdentity) {
  int checked = 0;
  for (const Fixture& f : fixtures()) {
    const auto parsed = parse_strict(f.text, f.options.initial_stage);
    if (!parsed || parsed->tool_calls.empty()) continue;
    Conversation conversation;
    conversation.thinking = false;
    Message turn{.role = Role::kAssistant, .content = {{.text = parsed->content}}};
    for (const ParsedCall& call : parsed->tool_calls) turn.tool_calls.push_back({"id", call.name, call.arguments});
    conversation.messages.push_back(turn);
    const auto prompt = Dsv41Encoder().encode(conversation);
    ASSERT_TRUE(prompt);
    const std::string text = prompt->segments.prompt();
    const std::size_t begin = text.find("</think>") + std::string("</think>").size();
    const auto again = parse_strict(text.substr(begin, text.find("<｜Assistant｜>", begin) - begin), std::nullopt);
    ASSERT_TRUE(again) << f.id << ": " << again.error().to_string() << "\n" << text;
    ASSERT_EQ(again->content, parsed->content) << f.id;
    ASSERT_EQ(again->tool_calls.size(), parsed->tool_calls.size()) << f.id;
    for (std::size_t i = 0; i < again->tool_calls.size(); ++i) {
      // Arguments that are valid JSON come back in Python's form; others come back wrapped.
      const auto json = base::parse_json(parsed->tool_calls[i].arguments);
      if (!json) continue;
      EXPECT_EQ(again->tool_calls[i].arguments, python_json(*json)) << f.id;
      EXPECT_EQ(again->tool_calls[i].name, parsed->tool_calls[i].name);
      ++checked;
    }
  }
  EXPECT_GT(checked, 50);
}

TEST(StopScanner, EqualsNaiveSearch) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    const auto word = [&](std::size_t most) {
      std::string out;
      for (std::size_t n = 1 + random() % most; n > 0; --n) out += static_cast<char>('a' + random() % 2);
      return out;
    };
    std::vector<std::string> stops;
    for (std::size_t n = 1 + random() % 3; n > 0; --n) stops.push_back(word(4));
    const std::string text = word(30);
    std::string expected = text;
    for (std::size_t end = 1; end <= text.size() && expected.size() == text.size(); ++end) {
      std::size_t longest = 0;
      for (const std::string& stop : stops) {
        if (std::string_view(text).substr(0, end).ends_with(stop)) longest = std::max(longest, stop.size());
      }
      if (longest > 0) expected = text.substr(0, end - longest) + "!";
      if (longest > 0) break;
    }
    StopScanner scanner(stops);
    std::string found;
    bool stopped = false;
    for (std::size_t at = 0; at < text.size() && !stopped;) {
      const std::size_t n = 1 + random() % 3;
      const auto output = scanner.push(std::string_view(text).substr(at, n));
      found += output.text;
      stopped = output.stopped;
      at += n;
    }
    found += stopped ? "!" : scanner.flush();
    ASSERT_EQ(found, expected);
  }
}

}  // namespace
}  // namespace deepinfer::prompt
