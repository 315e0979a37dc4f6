// `deepinfer tokenize` and `detokenize`: JSON Lines in, JSON Lines out.
#include "action.h"
#include "base/error.h"
#include "inputs.h"
#include "settings.h"

namespace deepinfer::cli {
namespace {

using base::Json;

/// Where the tokenizer and the lines come from.
struct LineFlags {
  std::string model;
  std::string tokenizer;
  std::string input;

  void define(Arguments& a) {
    a.text("--model", "DIR", "checkpoint folder with tokenizer.json; default: the bundled tiny-chat", model);
    a.bind("--model", "MODEL");
    a.text("--tokenizer", "FILE", "tokenizer.json to use instead of the model's", tokenizer);
    a.positional({"FILE", "", "JSON Lines; default: standard input"}, Arguments::Presence::kOptional,
                 [this](const std::string& value) { input = value; });
  }
  Result<tokenizer::Tokenizer> load(const Context& context) const {
    if (!tokenizer.empty()) return load_tokenizer(tokenizer);
    if (!model.empty()) return load_tokenizer(model);
    DI_ASSIGN(const std::string folder, bundled_folder(context.env, "models/tiny-chat"));
    return load_tokenizer(folder);
  }
};

// A field that has to be there; other members are refused so that a misspelt one is not ignored.
Result<const Json*> only_member(const Json& line, const std::string& key) {
  if (!line.is_object())
    return errorf(ErrorCode::kInvalidArgument, "a JSON object is expected, not {}", line.type_name());
  for (const auto& [name, value] : line.members()) {
    if (name != key) return errorf(ErrorCode::kInvalidArgument, "unknown field \"{}\"; accepted: {}", name, key);
  }
  const Json* found = line.find(key);
  if (found == nullptr) return errorf(ErrorCode::kInvalidArgument, "field \"{}\" is missing", key);
  return found;
}

class Tokenize : public Action {
 public:
  void define(Arguments& a) override {
    flags_.define(a);
    a.choice("--special", "whether literals of added tokens become their ids; default: text", {{"text", "parse"}},
             special_);
    a.examples(
        "  echo '{\"text\": \"Hello\"}' | deepinfer tokenize\n  deepinfer tokenize --special parse lines.jsonl\n");
  }
  Result<int> run(const Context& context) override {
    DI_ASSIGN(const tokenizer::Tokenizer tokenizer, flags_.load(context));
    const auto mode = special_ == "parse" ? tokenizer::SpecialMode::kParse : tokenizer::SpecialMode::kText;
    DI_TRY(map_json_lines(flags_.input, [&](const Json& line) -> Result<Json> {
      DI_ASSIGN(const Json* text, only_member(line, "text"));
      if (!text->is_string())
        return errorf(ErrorCode::kInvalidArgument, "text: a string is expected, not {}", text->type_name());
      DI_ASSIGN(const auto ids, tokenizer.encode(text->string(), mode));
      Json list = Json::array();
      for (const auto id : ids) list.push(Json(static_cast<std::int64_t>(id)));
      return Json(Json::Object{{"ids", std::move(list)}});
    }));
    return 0;
  }

 private:
  LineFlags flags_;
  std::string special_ = "text";
};

class Detokenize : public Action {
 public:
  void define(Arguments& a) override {
    flags_.define(a);
    a.choice("--special", "whether special tokens are shown (parse) or left out (text); default: parse",
             {{"text", "parse"}}, special_);
    a.examples("  echo '{\"ids\": [584, 867]}' | deepinfer detokenize\n");
  }
  Result<int> run(const Context& context) override {
    DI_ASSIGN(const tokenizer::Tokenizer tokenizer, flags_.load(context));
    const auto mode = special_ == "parse" ? tokenizer::DecodeMode::kAll : tokenizer::DecodeMode::kWithoutSpecial;
    DI_TRY(map_json_lines(flags_.input, [&](const Json& line) -> Result<Json> {
      DI_ASSIGN(const Json* list, only_member(line, "ids"));
      DI_ASSIGN(const auto ids, read_ids(*list, "ids"));
      DI_ASSIGN(std::string text, tokenizer.decode(ids, mode));
      return Json(Json::Object{{"text", std::move(text)}});
    }));
    return 0;
  }

 private:
  LineFlags flags_;
  std::string special_ = "parse";
};

}  // namespace

std::unique_ptr<Action> make_tokenize() { return std::make_unique<Tokenize>(); }
std::unique_ptr<Action> make_detokenize() { return std::make_unique<Detokenize>(); }

}  // namespace deepinfer::cli
