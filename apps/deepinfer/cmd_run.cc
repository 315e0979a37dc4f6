// `deepinfer run`: one completion, streamed.
#include "action.h"
#include "base/error.h"
#include "checkpoint/config.h"
#include "generation.h"
#include "inputs.h"
#include "interrupt.h"
#include "terminal.h"
#include "tokenizer/utf8.h"

namespace deepinfer::cli {
namespace {

using base::Json;

/// A prompt ready for the engine.
struct Prepared {
  std::vector<std::int32_t> ids;
  std::optional<prompt::ParsingOptions> parsing;  ///< none = raw
  SamplingParams params;
};

class Run : public Action {
 public:
  void define(Arguments& a) override {
    a.text("--prompt", "TEXT", "a user message, or with --raw the text itself", prompt_);
    a.text("--prompt-file", "FILE", "the same from a file, - = standard input", prompt_file_);
    a.text("--messages", "FILE", "JSON list of chat messages, or a whole chat request", messages_);
    a.text("--token-ids", "1,2,3", "the prompt as token ids", token_ids_);
    a.flag("--raw", "no chat encoding", raw_);
    a.choice("--special", "raw text: whether markers in it are special tokens; default: parse", {{"parse", "text"}},
             special_);
    a.text("--system", "TEXT", "system message in front of --prompt", system_);
    a.choice("--thinking", "whether the model reasons first; default: on", {{"on", "off"}}, thinking_);
    a.integer("--effort", "reasoning effort", {1, prompt::kMaxEffort}, effort_);
    a.text("--tools", "FILE", "JSON list of tools", tools_);
    sampling_.define(a);
    model_.define(a);
    a.flag("--json", "one object instead of the streamed text", json_);
    a.later({"--grammar", "--json-schema", "--record", "--record-steps", "--record-filter", "--max-bytes"});
    a.examples(
        "  deepinfer run --prompt \"What is the capital of France?\"\n"
        "  deepinfer run --raw --prompt \"Once upon a time\" --max-tokens 50 --seed 7\n"
        "  deepinfer run --messages request.json --greedy --json\n");
  }

  Result<int> run(const Context& context) override {
    InterruptScope cancellable;
    check_flags();
    DI_ASSIGN(const std::string folder, model_.folder(context));
    DI_ASSIGN(const checkpoint::ModelConfig config, checkpoint::load_config(folder));
    DI_ASSIGN(Prepared prepared, prepare(folder));
    DI_TRY(check_ids(prepared.ids, config.vocab_size, "prompt"));
    DI_TRY(fit(config.max_position_embeddings, prepared));
    const auto length = static_cast<std::int64_t>(prepared.ids.size()) + prepared.params.max_tokens;
    DI_ASSIGN(const auto llm, open_llm(engine_args(model_, sampling_, context, folder, length)));
    if (interrupted()) return kInterrupted;
    StreamPrinter printer;
    DI_ASSIGN(const Answer answer, generate_or_fail(*llm, prepared, printer));
    if (json_) print_json(report(answer, llm->engine().info().load_s));
    if (!json_) printer.finish();
    if (!json_ && prepared.params.logprobs) print_logprobs(answer.completion);
    return answer.interrupted ? kInterrupted : 0;
  }

 private:
  void check_flags() const {
    const int sources = (prompt_ ? 1 : 0) + (prompt_file_ ? 1 : 0) + (messages_ ? 1 : 0) + (token_ids_ ? 1 : 0);
    if (sources != 1) usage_error("run needs exactly one of --prompt, --prompt-file, --messages and --token-ids");
    const bool chat_only = system_ || thinking_ || effort_ || tools_ || messages_;
    if ((raw_ || token_ids_) && chat_only) {
      usage_error("--system, --thinking, --effort, --tools and --messages belong to the chat form, not to {}",
                  raw_ ? "--raw" : "--token-ids");
    }
    if (special_ && !raw_) usage_error("--special belongs to --raw");
  }

  Result<Prepared> prepare(const std::string& folder) {
    Prepared out;
    out.params.max_tokens = 0;  // = nobody said
    DI_TRY(apply_generation_config(folder, out.params));
    if (token_ids_) {
      try {
        out.ids = parse_ids(*token_ids_);
      } catch (const UsageError& error) {
        usage_error("--token-ids: {}", error.what());
      }
      apply_flags(sampling_, out.params);
      return out;
    }
    DI_ASSIGN(const tokenizer::Tokenizer tokenizer, load_tokenizer(folder));
    if (raw_) {
      DI_ASSIGN(const std::string text, prompt_text());
      const auto mode = special_ == "text" ? tokenizer::SpecialMode::kText : tokenizer::SpecialMode::kParse;
      DI_ASSIGN(out.ids, tokenizer.encode(text, mode));
    } else {
      DI_TRY(prepare_chat(tokenizer, out));
    }
    apply_flags(sampling_, out.params);
    if (out.parsing && !sampling_.stop.empty()) out.parsing->stop_sequences = sampling_.stop;
    return out;
  }

  Status prepare_chat(const tokenizer::Tokenizer& tokenizer, Prepared& out) {
    DI_ASSIGN(const prompt::Conversation conversation, read_conversation(out));
    DI_ASSIGN(const prompt::RenderedPrompt rendered, prompt::render_conversation(conversation));
    if (rendered.images > 0)
      return errorf(ErrorCode::kUnsupported, "the prompt has {} images; this build runs text", rendered.images);
    std::vector<std::string> stops;
    if (out.parsing) stops = out.parsing->stop_sequences;
    out.parsing = rendered.parsing;
    if (!stops.empty()) out.parsing->stop_sequences = stops;
    DI_ASSIGN(out.ids, prompt::segments_to_ids(rendered.segments, tokenizer));
    return {};
  }

  Result<prompt::Conversation> read_conversation(Prepared& out) {
    prompt::SimpleChat chat;
    if (messages_) {
      if (system_) usage_error("--system belongs to --prompt; --messages holds its own system message");
      DI_ASSIGN(chat.messages, read_json_file(*messages_));
    } else {
      DI_ASSIGN(chat.user, prompt_text());
      if (const auto offset = system_ ? tokenizer::find_invalid_utf8(*system_) : std::nullopt) {
        return errorf(ErrorCode::kInvalidArgument, "--system: invalid UTF-8 at byte {}", *offset);
      }
      chat.system = system_;
    }
    if (tools_) {
      DI_ASSIGN(chat.tools, read_json_file(*tools_));
    }
    if (thinking_) chat.thinking = *thinking_ == "on";
    if (effort_) chat.effort = static_cast<int>(*effort_);
    if (chat.messages && chat.messages->is_object()) {
      // A whole request: its sampling fields count too, unless a flag says otherwise.
      if (Status known = check_request_fields(*chat.messages); !known) return with_context(known.error(), *messages_);
      DI_ASSIGN(const prompt::ConvertedRequest request, prompt::convert_chat_request(*chat.messages, {}));
      DI_TRY(apply_request(*chat.messages, request.inference, out.params));
      out.parsing = request.parsing;
    }
    return prompt::make_simple_chat(chat);
  }

  Result<std::string> prompt_text() const {
    if (prompt_file_) return read_text_file(*prompt_file_);
    if (const auto offset = tokenizer::find_invalid_utf8(*prompt_)) {
      return errorf(ErrorCode::kInvalidArgument, "--prompt: invalid UTF-8 at byte {}", *offset);
    }
    return *prompt_;
  }

  static Status fit(std::int64_t context, Prepared& prepared) {
    const auto length = static_cast<std::int64_t>(prepared.ids.size());
    if (length == 0) return errorf(ErrorCode::kInvalidArgument, "the prompt is empty; at least one token is expected");
    if (length >= context) {
      return errorf(ErrorCode::kInvalidArgument,
                    "the prompt has {} tokens, the context of the model is {} and needs room for an answer", length,
                    context);
    }
    if (prepared.params.max_tokens == 0) {
      prepared.params.max_tokens = std::clamp<std::int64_t>(context - length, 1, kDefaultMaxTokens);
      return {};
    }
    if (length + prepared.params.max_tokens > context) {
      return errorf(ErrorCode::kInvalidArgument, "{} prompt tokens and --max-tokens {} exceed the context of {}",
                    length, prepared.params.max_tokens, context);
    }
    return {};
  }

  // A generation that fails is exit code 1, whatever ended it; wrong input was found before.
  Result<Answer> generate_or_fail(LLM& llm, const Prepared& prepared, StreamPrinter& printer) const {
    const EventSink sink = [&](const prompt::ParseEvent& event) {
      if (!json_) printer.show(event);
    };
    return generate(llm, prepared.ids, prepared.params, prepared.parsing, sink);
  }

  static Json logprob_json(const Completion& completion) {
    Json out = Json::array();
    for (std::size_t i = 0; i < completion.logprobs.size(); ++i) {
      Json top = Json::array();
      for (const TokenLogprob& entry : completion.top_logprobs[i]) {
        top.push(Json(Json::Object{{"id", entry.token_id}, {"logprob", double{entry.logprob}}}));
      }
      out.push(Json(Json::Object{
          {"id", completion.token_ids[i]}, {"logprob", double{completion.logprobs[i]}}, {"top", std::move(top)}}));
    }
    return out;
  }

  Json report(const Answer& answer, double load_s) const {
    const Completion& c = answer.completion;
    Json ids = Json::array();
    for (const std::int32_t id : c.token_ids) ids.push(id);
    Json out = Json(Json::Object{{"text", answer.parsed.content},
                                 {"reasoning", answer.parsed.reasoning},
                                 {"tool_calls", tool_calls_json(answer.parsed)},
                                 {"token_ids", std::move(ids)},
                                 {"finish_reason", answer.parsed.finish_reason},
                                 {"seed", c.seed},
                                 {"usage", usage_json(c.usage)},
                                 {"timings", timings_json(c.timings, load_s)}});
    if (!c.logprobs.empty()) out.set("logprobs", logprob_json(c));
    return out;
  }

  static void print_logprobs(const Completion& completion) {
    std::vector<std::vector<std::string>> rows{{"id", "logprob", "best"}};
    for (std::size_t i = 0; i < completion.logprobs.size(); ++i) {
      std::string best;
      for (const TokenLogprob& entry : completion.top_logprobs[i])
        best += fmt::format("{}:{} ", entry.token_id, entry.logprob);
      rows.push_back({fmt::format("{}", completion.token_ids[i]), fmt::format("{}", completion.logprobs[i]), best});
    }
    print("\n" + table(rows));
  }

  std::optional<std::string> prompt_, prompt_file_, messages_, token_ids_, system_, thinking_, tools_, special_;
  std::optional<std::int64_t> effort_;
  bool raw_ = false, json_ = false;
  SamplingFlags sampling_;
  ModelFlags model_;
};

}  // namespace

std::unique_ptr<Action> make_run() { return std::make_unique<Run>(); }

}  // namespace deepinfer::cli
