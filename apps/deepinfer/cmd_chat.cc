// `deepinfer chat`: an interactive conversation with line editing, history and slash commands.
#include <editline/readline.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "action.h"
#include "base/error.h"
#include "base/io.h"
#include "checkpoint/config.h"
#include "engine/load.h"
#include "generation.h"
#include "inputs.h"
#include "interrupt.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

using base::Json;

/// Lines from a terminal with editing and a history file, or from a pipe.
class LineReader {
 public:
  LineReader() {
    if (!stdin_is_terminal()) return;
    ::rl_readline_name = "deepinfer";
    const std::filesystem::path folder = state_folder();
    if (folder.empty()) return;
    std::error_code error;
    std::filesystem::create_directories(folder, error);
    if (error) return;
    history_ = folder / "history";
    ::using_history();
    ::read_history(history_.c_str());
  }
  ~LineReader() {
    if (!history_.empty()) ::write_history(history_.c_str());
  }
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// Nothing at the end of the input, and after Ctrl-C.
  std::optional<std::string> read(const std::string& prompt) {
    if (!stdin_is_terminal()) {
      std::string line;
      return std::getline(std::cin, line) ? std::optional(line) : std::nullopt;
    }
    flush_output();
    const std::unique_ptr<char, decltype(&std::free)> line(::readline(prompt.c_str()), &std::free);
    if (line == nullptr) return std::nullopt;
    if (*line != '\0') ::add_history(line.get());
    return std::string(line.get());
  }

 private:
  static std::filesystem::path state_folder() {
    if (const std::string state = base::process_variable("XDG_STATE_HOME"); !state.empty()) {
      return std::filesystem::path(state) / "deepinfer";
    }
    const std::string home = base::process_variable("HOME");
    return home.empty() ? std::filesystem::path() : std::filesystem::path(home) / ".local/state/deepinfer";
  }
  std::filesystem::path history_;
};

/// Messages so far, in the chat form, and how the next prompt is made.
struct Dialogue {
  Json messages = Json::array();
  std::optional<std::string> system;
  std::optional<Json> tools;
  std::optional<bool> thinking;
  std::vector<prompt::ParsedCall> open_calls;  ///< of the last answer; their results come next

  Json request() const {
    Json out = Json::array();
    if (system) out.push(Json(Json::Object{{"role", "system"}, {"content", *system}}));
    for (const Json& message : messages.items()) out.push(message);
    return out;
  }
  void add_answer(const prompt::ParsedCompletion& parsed) {
    Json message = Json(Json::Object{{"role", "assistant"}, {"content", parsed.content}});
    if (!parsed.reasoning.empty()) message.set("reasoning_content", parsed.reasoning);
    if (!parsed.tool_calls.empty()) {
      Json calls = Json::array();
      for (const prompt::ParsedCall& call : parsed.tool_calls) {
        calls.push(Json(Json::Object{{"id", call_id(calls.items().size())},
                                     {"type", "function"},
                                     {"function", Json::Object{{"name", call.name}, {"arguments", call.arguments}}}}));
      }
      message.set("tool_calls", std::move(calls));
    }
    messages.push(std::move(message));
    open_calls = parsed.tool_calls;
  }
  static std::string call_id(std::size_t index) { return fmt::format("call_{}", index); }
};

class Chat : public Action {
 public:
  void define(Arguments& a) override {
    a.text("--system", "TEXT", "system message", dialogue_.system);
    a.choice("--thinking", "whether the model reasons first; default: on", {{"on", "off"}}, thinking_);
    a.integer("--effort", "reasoning effort", {1, prompt::kMaxEffort}, effort_);
    a.text("--tools", "FILE", "JSON list of tools", tools_file_);
    a.integer("--max-model-len", "tokens of the whole conversation", {1, INT32_MAX}, max_model_len_);
    sampling_.define(a);
    model_.define(a);
    a.examples("  deepinfer chat\n  deepinfer chat --thinking off --system \"Answer briefly.\"\n");
  }

  Result<int> run(const Context& context) override {
    InterruptScope cancellable;
    DI_ASSIGN(const std::string folder, model_.folder(context));
    DI_ASSIGN(const checkpoint::ModelConfig config, checkpoint::load_config(folder));
    DI_TRY(apply_generation_config(folder, params_));
    params_.max_tokens = kDefaultMaxTokens;
    apply_flags(sampling_, params_);
    if (thinking_) dialogue_.thinking = *thinking_ == "on";
    if (tools_file_) {
      DI_ASSIGN(dialogue_.tools, read_json_file(*tools_file_));
    }
    max_model_len_ = std::min(max_model_len_, config.max_position_embeddings);
    DI_ASSIGN(llm_, open_llm(engine_args(model_, sampling_, context, folder, max_model_len_)));
    if (stdin_is_terminal()) printf_line("{}  (/help lists the commands)", inked(Ink::kBold, folder));
    return converse();
  }

 private:
  Result<int> converse() {
    LineReader reader;
    bool warned = false;  // the last thing that happened was a first Ctrl-C
    while (true) {
      const auto line = reader.read(prompt_text());
      if (interrupted()) {
        if (warned || !stdin_is_terminal()) return kInterrupted;
        print("\n(Ctrl-C again leaves)\n");
        warned = true;
        clear_interrupt();
        continue;
      }
      if (!line) break;
      warned = false;
      if (*line == "/quit" || *line == "/exit") break;
      if (line->empty() && dialogue_.open_calls.empty()) continue;
      const Status status = line->starts_with("/") ? command(*line) : say(*line);
      if (!status) complain(status.error().to_string());
      warned = interrupted();
      clear_interrupt();
    }
    if (stdin_is_terminal()) print("\n");
    return 0;
  }

  std::string prompt_text() const {
    return dialogue_.open_calls.empty() ? "> " : fmt::format("result of {}> ", dialogue_.open_calls.front().name);
  }

  Status say(const std::string& line) {
    if (dialogue_.open_calls.empty()) {
      dialogue_.messages.push(Json(Json::Object{{"role", "user"}, {"content", line}}));
    } else {
      const std::size_t answered = answered_calls();
      dialogue_.messages.push(
          Json(Json::Object{{"role", "tool"}, {"tool_call_id", Dialogue::call_id(answered)}, {"content", line}}));
      dialogue_.open_calls.erase(dialogue_.open_calls.begin());
      if (!dialogue_.open_calls.empty()) return {};
    }
    const Status status = answer();
    // A turn that could not be answered is taken back, so that the next line starts clean.
    if (!status) dialogue_.messages.items().pop_back();
    return status;
  }

  // Results given since the last assistant message.
  std::size_t answered_calls() const {
    const auto& items = dialogue_.messages.items();
    std::size_t count = 0;
    while (count < items.size() && items[items.size() - 1 - count].find("tool_call_id") != nullptr) ++count;
    return count;
  }

  Status answer() {
    prompt::SimpleChat chat;
    chat.messages = dialogue_.request();
    chat.tools = dialogue_.tools;
    chat.thinking = dialogue_.thinking;
    if (effort_) chat.effort = static_cast<int>(*effort_);
    DI_ASSIGN(const prompt::Conversation conversation, prompt::make_simple_chat(chat));
    DI_ASSIGN(prompt::RenderedPrompt rendered, prompt::render_conversation(conversation));
    DI_ASSIGN(const auto ids, prompt::segments_to_ids(rendered.segments, *llm_->engine().loaded().tokenizer));
    const std::int64_t left = max_model_len_ - static_cast<std::int64_t>(ids.size());
    if (left < 1) {
      return errorf(ErrorCode::kInvalidArgument,
                    "the conversation has {} tokens, the context is {}; /reset starts over", ids.size(),
                    max_model_len_);
    }
    SamplingParams params = params_;
    params.max_tokens = std::min(params.max_tokens, left);
    rendered.parsing.stop_sequences = params_.stop;
    StreamPrinter printer;
    DI_ASSIGN(const Answer answer,
              generate(*llm_, ids, params, rendered.parsing, [&](const prompt::ParseEvent& e) { printer.show(e); }));
    printer.finish();
    last_ = answer.completion;
    if (answer.interrupted) print(inked(Ink::kDim, "(stopped)") + "\n");
    if (answer.parsed.content.empty() && answer.parsed.tool_calls.empty()) {
      dialogue_.messages.items().pop_back();  // nothing to remember: the question is not part of the history either
      return {};
    }
    dialogue_.add_answer(answer.parsed);
    return {};
  }

  Status command(const std::string& line) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string name = line.substr(0, blank);
    const std::string rest = blank < line.size() ? line.substr(blank + 1) : "";
    if (name == "/help") return help();
    if (name == "/system") return set_system(rest);
    if (name == "/thinking") return set_thinking(rest);
    if (name == "/tools") return set_tools(rest);
    if (name == "/reset") return reset();
    if (name == "/save") return save(rest);
    if (name == "/stats") return stats();
    return errorf(ErrorCode::kInvalidArgument,
                  "unknown command {}; accepted: /help /system /thinking /tools /reset /save /stats /quit", name);
  }

  Status help() {
    print(table({{"/help", "this list"},
                 {"/system TEXT", "sets the system message; without TEXT removes it"},
                 {"/thinking on|off", "whether the model reasons first"},
                 {"/tools FILE|off", "JSON list of tools the model may call"},
                 {"/reset", "forgets the conversation"},
                 {"/save FILE", "writes the messages as a chat request"},
                 {"/stats", "tokens and times of the last answer"},
                 {"/quit", "leaves; so do Ctrl-D and Ctrl-C twice"}}));
    return {};
  }
  Status set_system(const std::string& text) {
    dialogue_.system = text.empty() ? std::nullopt : std::optional(text);
    print(text.empty() ? "(no system message)\n" : "(system message set)\n");
    return {};
  }
  Status set_thinking(const std::string& word) {
    if (word != "on" && word != "off")
      return errorf(ErrorCode::kInvalidArgument, "/thinking \"{}\"; accepted: on, off", word);
    dialogue_.thinking = word == "on";
    printf_line("(thinking {})", word);
    return {};
  }
  Status set_tools(const std::string& file) {
    if (file == "off" || file.empty()) {
      dialogue_.tools.reset();
      print("(no tools)\n");
      return {};
    }
    DI_ASSIGN(Json tools, read_json_file(file));
    if (!tools.is_array()) return errorf(ErrorCode::kInvalidArgument, "{}: a JSON list of tools is expected", file);
    dialogue_.tools = std::move(tools);
    printf_line("({} tools)", dialogue_.tools->items().size());
    return {};
  }
  Status reset() {
    dialogue_.messages = Json::array();
    dialogue_.open_calls.clear();
    print("(conversation forgotten)\n");
    return {};
  }
  Status save(const std::string& file) {
    if (file.empty()) return errorf(ErrorCode::kInvalidArgument, "/save needs a file name");
    Json body = Json(Json::Object{{"messages", dialogue_.request()}});
    if (dialogue_.tools) body.set("tools", *dialogue_.tools);
    DI_TRY(base::write_file(file, base::dump_json(body, {.indent = 2}) + "\n"));
    printf_line("(saved {})", file);
    return {};
  }
  Status stats() {
    if (!last_) {
      print("(no answer yet)\n");
      return {};
    }
    printf_line("prompt {} tokens in {:.3f} s, answer {} tokens in {:.3f} s: {:.1f} tokens/s, {:.2f} tokens a step",
                last_->usage.prompt_tokens, last_->timings.prefill_s, last_->usage.completion_tokens,
                last_->timings.decode_s, last_->timings.tokens_per_s, last_->timings.mean_accepted_len);
    return {};
  }

  Dialogue dialogue_;
  std::optional<std::string> thinking_, tools_file_;
  std::optional<std::int64_t> effort_;
  std::int64_t max_model_len_ = 32768;
  SamplingFlags sampling_;
  ModelFlags model_;
  SamplingParams params_;
  std::unique_ptr<LLM> llm_;
  std::optional<Completion> last_;
};

}  // namespace

std::unique_ptr<Action> make_chat() { return std::make_unique<Chat>(); }

}  // namespace deepinfer::cli
