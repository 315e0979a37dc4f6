#include "verify/verify_encoding.h"

#include <functional>
#include <string_view>

#include "base/error.h"
#include "base/io.h"
#include "base/json.h"
#include "prompt/image_layout.h"
#include "prompt/prompt.h"
#include "prompt/request_error.h"
#include "prompt/token_limits.h"
#include "verify/golden_folder.h"

namespace deepinfer::verify {
namespace {

using base::Json;
using Outcome = CaseRow::Outcome;
using prompt::RenderSettings;
using tokenizer::Tokenizer;

constexpr std::string_view kServedModel = "DeepSeek-V4.1-Flash";

std::string shown(const Json& value) {
  std::string text = base::dump_json(value, {.ascii_only = true});
  if (text.size() > 160) text = text.substr(0, 160) + "…";
  return text;
}

/// First difference in words, empty if equal. Numbers are compared by value; members that only `found` has do not
/// count.
std::string difference(const Json& expected, const Json& found, const std::string& path) {
  if (expected.is_object() && found.is_object()) {
    for (const auto& [key, value] : expected.members()) {
      const Json* other = found.find(key);
      if (other == nullptr) return path + "." + key + " is missing";
      if (std::string text = difference(value, *other, path + "." + key); !text.empty()) return text;
    }
    return "";
  }
  if (expected.is_array() && found.is_array() && expected.items().size() == found.items().size()) {
    for (std::size_t i = 0; i < expected.items().size(); ++i) {
      const std::string item = fmt::format("{}[{}]", path, i);
      if (std::string text = difference(expected.items()[i], found.items()[i], item); !text.empty()) return text;
    }
    return "";
  }
  const bool equal =
      expected.is_number() && found.is_number() ? expected.as_double() == found.as_double() : expected == found;
  return equal ? "" : fmt::format("{} is {}, expected {}", path, shown(found), shown(expected));
}

// The text at which two strings part, for prompts of thousands of characters.
std::string text_difference(const std::string& expected, const std::string& found) {
  if (expected == found) return "";
  std::size_t at = 0;
  while (at < std::min(expected.size(), found.size()) && expected[at] == found[at]) ++at;
  while (at > 0 && (static_cast<unsigned char>(expected[std::min(at, expected.size() - 1)]) & 0xC0) == 0x80) --at;
  return fmt::format("prompt differs at byte {}: {}, expected {}", at, shown(Json(found.substr(at, 80))),
                     shown(Json(expected.substr(at, 80))));
}

/// What a check found: an empty text is a pass.
using Check = std::function<std::string(const Json& input, const Json& expected)>;

// An expected error: the case must be refused, with the status if one is given.
std::string compare_error(const Json& error, const Result<Json>& result) {
  if (result) return fmt::format("accepted, expected to be refused ({})", shown(error));
  const Json* status = error.find("status");
  const int found = prompt::describe_request_error(result.error()).status;
  if (status != nullptr && status->as_int() != found)
    return fmt::format("status {}, expected {}", found, shown(*status));
  return "";
}

std::string compare_result(const Json& expected, const Result<Json>& result) {
  if (const Json* error = expected.find("error")) return compare_error(*error, result);
  if (!result) return "refused: " + result.error().to_string();
  return difference(expected, *result, "");
}

class EncodingVerifier {
 public:
  EncodingVerifier(std::string dir, const Tokenizer* tokenizer) : dir_(std::move(dir)), tokenizer_(tokenizer) {
    request_.profile = prompt::Profile::kOfficial;
    request_.served_models = {std::string(kServedModel)};
  }

  Result<Report> run() {
    using prompt::RequestForm;
    DI_TRY(check_prompts("chat_requests", {RequestForm::kChat, request_}));
    DI_TRY(check_prompts("responses_requests", {RequestForm::kResponses, request_}));
    DI_TRY(check_prompts("messages_requests", {RequestForm::kMessages, request_}));
    DI_TRY(check_prompts("conversations", conversation_settings(prompt::Rules::kRecipe)));
    DI_TRY(check_prompts("release_messages", conversation_settings(prompt::Rules::kCheckpoint)));
    DI_TRY(check_all("token_limits", check_limit));
    DI_TRY(check_all("image_tokens", check_image));
    DI_TRY(check_all("image_sizes", check_image));
    DI_TRY(check_all("parse_text", check_parse_text));
    DI_TRY(check_all("parse_stream", [this](const Json& in, const Json& out) { return check_events(in, out); }));
    DI_TRY(check_parse_tokens());
    return std::move(report_);
  }

 private:
  RenderSettings conversation_settings(prompt::Rules rules) const {
    RenderSettings settings{std::nullopt, request_};
    settings.request.rules = rules;
    return settings;
  }

  using Visit = std::function<void(const std::string& id, const Json& input, const Json& expected)>;

  Status for_each_case(const std::string& file, const Visit& visit) const {
    const std::string path = dir_ + "/" + file + ".jsonl";
    DI_ASSIGN(const std::string text, base::read_file(path));
    std::string_view rest = text;
    for (std::int64_t line = 1; !rest.empty(); ++line) {
      const std::string_view one = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      if (one.empty()) continue;
      auto row = base::parse_json(one);
      if (!row) return with_context(row.error(), fmt::format("{}:{}", path, line));
      const Json *id = row->find("id"), *input = row->find("input"), *expected = row->find("expected");
      if (id == nullptr || !id->is_string() || input == nullptr || expected == nullptr) {
        return errorf(ErrorCode::kDataCorruption, "{}:{}: a case needs id, input and expected", path, line);
      }
      const auto visited = refuse_bad_golden(fmt::format("{}:{}", path, line), [&]() -> Status {
        visit(id->string(), *input, *expected);
        return {};
      });
      DI_TRY(visited);
    }
    return {};
  }

  void add(const std::string& op, const std::string& id, std::string detail) {
    const Outcome outcome = detail.empty() ? Outcome::kPass : Outcome::kFail;
    report_.add({op, id, detail.empty() ? 0.0 : 1.0, 0.0, outcome, std::move(detail)});
  }

  Status check_all(const std::string& file, const Check& check) {
    return for_each_case(file, [&](const std::string& id, const Json& input, const Json& expected) {
      add(file, id, check(input, expected));
    });
  }

  Status check_prompts(const std::string& file, const RenderSettings& settings) {
    return for_each_case(file, [&](const std::string& id, const Json& input, const Json& expected) {
      const Result<Json> result = render(input, settings);
      add(file, id, compare_prompt(expected, result));
      const Json* ids = expected.find("ids");
      if (ids == nullptr) return;
      if (tokenizer_ == nullptr) {
        report_.add({file + ".ids", id, 0, 0, Outcome::kSkip, "no tokenizer"});
        return;
      }
      const Json* found = result ? result->find("ids") : nullptr;
      add(file + ".ids", id, found == nullptr ? "no ids" : difference(*ids, *found, "ids"));
    });
  }

  Result<Json> render(const Json& input, const RenderSettings& settings) const {
    const Json* raw = input.find("raw_body");
    if (raw == nullptr) return prompt::render_line(input, tokenizer_, settings);
    DI_ASSIGN(const Json body, prompt::parse_request_body(text_member(input, "raw_body"), prompt::Profile::kOfficial));
    return prompt::render_line(body, tokenizer_, settings);
  }

  static std::string compare_prompt(const Json& expected, const Result<Json>& result) {
    if (result && expected.find("prompt") != nullptr) {
      std::string text = text_difference(text_member(expected, "prompt"), text_member(*result, "prompt"));
      if (!text.empty()) return text;
    }
    need_golden(expected.is_object(), "expected is a {}, not an object", expected.type_name());
    Json without_ids;
    for (const auto& [key, value] : expected.members()) {
      if (key != "ids") without_ids.set(key, value);
    }
    return compare_result(without_ids, result);
  }

  static std::string check_limit(const Json& input, const Json& expected) {
    prompt::TokenLimitInput limit;
    if (const Json* requested = input.find("max_tokens")) limit.requested = requested->as_int();
    limit.thinking = member(input, "thinking") == Json(true);
    limit.effort = member(input, "reasoning_effort") == Json("max") ? prompt::kMaxEffort : prompt::kDefaultEffort;
    limit.prompt_tokens = member(input, "prompt_tokens").as_int().value_or(0);
    limit.context_limit = member(input, "context_limit").as_int().value_or(0);
    const auto tokens = prompt::resolve_max_tokens(limit);
    return compare_result(expected, tokens.map([](std::int64_t n) { return Json(Json::Object{{"max_tokens", n}}); }));
  }

  static Result<Json> layout(const Json& input) {
    const Json* detail = input.find("detail");
    const bool low = detail != nullptr && *detail == Json("low");
    DI_ASSIGN(const auto size, prompt::layout_image(member(input, "width").as_int().value_or(0),
                                                    member(input, "height").as_int().value_or(0),
                                                    low ? prompt::ImageDetail::kLow : prompt::ImageDetail::kHigh));
    return Json(Json::Object{{"width", size.width}, {"height", size.height}, {"tokens", size.tokens}});
  }
  static std::string check_image(const Json& input, const Json& expected) {
    return compare_result(expected, layout(input));
  }

  static std::string check_parse_text(const Json& input, const Json& expected) {
    if (const Json* api = expected.find("api")) {
      std::string text = compare_result(*api, prompt::parse_line(input, nullptr));
      if (!text.empty()) return "api: " + text;
    }
    const Json* strict = expected.find("strict");
    if (strict == nullptr) return "";
    const auto result = prompt::parse_line(input, nullptr, prompt::ParserKind::kStrict);
    if (strict->find("error") != nullptr) return result ? "strict: accepted, expected to be refused" : "";
    if (!result) return "strict: refused: " + result.error().to_string();
    Json wanted;
    wanted.set("content", member(*strict, "content")).set("reasoning", member(*strict, "reasoning_content"));
    wanted.set("tool_calls", member(*strict, "tool_calls"));
    std::string text = difference(wanted, *result, "");
    return text.empty() ? "" : "strict: " + text;
  }

  // How events are cut is free, so only their concatenation is compared.
  std::string check_events(const Json& input, const Json& expected) const {
    const auto result = prompt::parse_line(input, tokenizer_);
    if (!result) return "refused: " + result.error().to_string();
    const Json& wanted = member(expected, "events");
    const Json& found = member(*result, "events");
    if (list_of(wanted, "events").size() != list_of(found, "events").size()) {
      return fmt::format("{} event lists, expected {}", found.items().size(), wanted.items().size());
    }
    return difference(merged(wanted), merged(found), "events");
  }

  static Json merged(const Json& chunks) {
    Json out = Json::array();
    for (const Json& chunk : chunks.items()) {
      if (chunk.is_null()) continue;
      for (const Json& event : list_of(chunk, "events of a chunk")) append_event(out.items(), list_of(event, "event"));
    }
    return out;
  }

  static void append_event(Json::Array& out, const Json::Array& event) {
    const auto same = [&](const Json::Array& last) {
      return last.size() == event.size() && std::equal(last.begin(), last.end() - 1, event.begin());
    };
    need_golden(!event.empty(), "an event is empty");
    const bool text = event[0] != Json("call") && event[0] != Json("finish");
    if (text && !out.empty() && same(out.back().items())) {
      Json& last = out.back().items().back();
      need_golden(last.is_string() && event.back().is_string(), "the text of an event is no string");
      last = Json(last.string() + event.back().string());
    } else {
      out.push_back(Json(event));
    }
  }

  Status check_parse_tokens() {
    return for_each_case("parse_tokens", [&](const std::string& id, const Json& input, const Json& expected) {
      if (tokenizer_ == nullptr) {
        report_.add({"parse_tokens", id, 0, 0, Outcome::kSkip, "no tokenizer"});
      } else {
        add("parse_tokens", id, check_events(input, expected));
      }
    });
  }

  std::string dir_;
  const Tokenizer* tokenizer_;
  prompt::RequestSettings request_;
  Report report_;
};

}  // namespace

Result<Report> verify_encoding(const std::string& dir, const std::optional<std::string>& tokenizer_file) {
  if (!tokenizer_file) return EncodingVerifier(dir, nullptr).run();
  DI_ASSIGN(const Tokenizer tokenizer, Tokenizer::from_file(*tokenizer_file));
  return EncodingVerifier(dir, &tokenizer).run();
}

}  // namespace deepinfer::verify
