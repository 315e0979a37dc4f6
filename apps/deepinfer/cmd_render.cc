// `deepinfer render` and `deepinfer parse`: requests to prompts, completions to messages; JSON Lines both ways.
#include <algorithm>

#include "action.h"
#include "base/error.h"
#include "inputs.h"
#include "prompt/prompt.h"
#include "prompt/request_error.h"

namespace deepinfer::cli {
namespace {

using base::Json;

/// The tokenizer that ids come from; `none` leaves the ids out.
struct PromptFlags {
  std::string model;
  std::string tokenizer;
  std::string input;

  void define(Arguments& a) {
    a.text("--model", "DIR", "checkpoint folder with tokenizer.json; default: the bundled tiny-chat", model);
    a.bind("--model", "MODEL");
    a.text("--tokenizer", "FILE", "tokenizer.json to use instead of the model's, or none", tokenizer);
    a.positional({"FILE", "", "JSON Lines; default: standard input"}, Arguments::Presence::kOptional,
                 [this](const std::string& value) { input = value; });
  }
  Result<std::optional<tokenizer::Tokenizer>> load(const Context& context) const {
    if (tokenizer == "none") return std::nullopt;
    std::string path = tokenizer.empty() ? model : tokenizer;
    if (path.empty()) {
      DI_ASSIGN(path, bundled_folder(context.env, "models/tiny-chat"));
    }
    DI_ASSIGN(tokenizer::Tokenizer loaded, load_tokenizer(path));
    return std::optional(std::move(loaded));
  }
};

class Render : public Action {
 public:
  void define(Arguments& a) override {
    flags_.define(a);
    a.choice("--form", "form of the requests; default: recognised", {{"chat", "responses", "messages"}}, form_);
    a.choice("--api-profile", "what requests may hold; default: default", {{"default", "official"}}, profile_);
    a.choice("--prompt-rules", "default: the fields of a request decide", {{"recipe", "checkpoint"}}, rules_);
    a.examples(
        "  echo '{\"messages\": [{\"role\": \"user\", \"content\": \"Hi\"}]}' | deepinfer render\n"
        "  deepinfer render --tokenizer none requests.jsonl\n");
  }
  Result<int> run(const Context& context) override {
    DI_ASSIGN(const auto tokenizer, flags_.load(context));
    prompt::RenderSettings settings;
    if (form_ == "chat") settings.form = prompt::RequestForm::kChat;
    if (form_ == "responses") settings.form = prompt::RequestForm::kResponses;
    if (form_ == "messages") settings.form = prompt::RequestForm::kMessages;
    if (profile_ == "official") settings.request.profile = prompt::Profile::kOfficial;
    if (rules_ == "recipe") settings.request.rules = prompt::Rules::kRecipe;
    if (rules_ == "checkpoint") settings.request.rules = prompt::Rules::kCheckpoint;
    // The official recipe ignores unknown fields.
    const bool check = settings.request.profile == prompt::Profile::kDefault;
    DI_TRY(map_json_lines(flags_.input, [&](const Json& line) -> Result<Json> {
      if (Status known = check_request_fields(line); check && !known) return tl::unexpected(known.error());
      return prompt::render_line(line, tokenizer ? &*tokenizer : nullptr, settings);
    }));
    return 0;
  }

 private:
  PromptFlags flags_;
  std::string form_, profile_, rules_;
};

class Parse : public Action {
 public:
  void define(Arguments& a) override {
    flags_.define(a);
    a.choice("--parser", "default: lenient, which never fails on what a model writes", {{"lenient", "strict"}}, kind_);
    a.examples(
        "  echo '{\"text\": \"Sure.</think>Hi\", \"stage\": \"reasoning_start\", \"finish\": \"stop\"}' | deepinfer "
        "parse\n");
  }
  Result<int> run(const Context& context) override {
    DI_ASSIGN(const auto tokenizer, flags_.load(context));
    const auto kind = kind_ == "strict" ? prompt::ParserKind::kStrict : prompt::ParserKind::kLenient;
    const auto parse = [&](const Json& line) -> Result<Json> {
      DI_TRY(check_fields(line));
      return prompt::parse_line(line, tokenizer ? &*tokenizer : nullptr, kind);
    };
    DI_TRY(map_json_lines(flags_.input, parse));
    return 0;
  }

 private:
  static Status check_fields(const Json& line) {
    static const std::vector<std::string> kKnown = {"text", "chunks", "stage", "initial_stage", "finish", "options"};
    if (!line.is_object()) return {};
    for (const auto& [key, value] : line.members()) {
      if (std::ranges::find(kKnown, key) != kKnown.end()) continue;
      return errorf(ErrorCode::kInvalidArgument, "unknown field \"{}\"; accepted: {}", key, join(kKnown));
    }
    if (line.find("text") != nullptr && line.find("chunks") != nullptr) {
      return errorf(ErrorCode::kInvalidArgument, "\"text\" and \"chunks\" exclude each other");
    }
    return {};
  }

  PromptFlags flags_;
  std::string kind_;
};

}  // namespace

std::unique_ptr<Action> make_render() { return std::make_unique<Render>(); }
std::unique_ptr<Action> make_parse() { return std::make_unique<Parse>(); }

}  // namespace deepinfer::cli
