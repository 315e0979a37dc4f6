#include "generation.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "base/io.h"
#include "engine/load.h"
#include "inputs.h"
#include "interrupt.h"
#include "terminal.h"
#include "tokenizer/utf8.h"

namespace deepinfer::cli {
namespace {

using base::Json;

// "0..3,7,10..12" (original-engine.md 1.5).
std::vector<std::int32_t> parse_ranges(std::string_view text) {
  std::vector<std::int32_t> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    const std::size_t dots = word.find("..");
    const std::int64_t first = parse_integer(word.substr(0, std::min(dots, word.size())), 0, INT32_MAX);
    const std::int64_t last =
        dots == std::string_view::npos ? first : parse_integer(word.substr(dots + 2), first, INT32_MAX);
    if (last - first > (1 << 20)) usage_error("\"{}\" holds more than {} ids", word, 1 << 20);
    for (std::int64_t id = first; id <= last; ++id) out.push_back(static_cast<std::int32_t>(id));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

std::vector<double> parse_numbers(std::string_view text) {
  std::vector<double> out;
  while (!text.empty()) {
    const std::size_t comma = std::min(text.find(','), text.size());
    out.push_back(parse_number(text.substr(0, comma), 1e-6, 1e6));
    text.remove_prefix(std::min(comma + 1, text.size()));
  }
  return out;
}

template <typename F>
auto of_variable(std::string_view name, const F& read) {
  try {
    return read();
  } catch (const UsageError& error) {
    usage_error("DEEPINFER_{}: {}", name, error.what());
  }
}

void apply_environment(const base::Environ& env, EngineArgs& args) {
  args.token_blacklist =
      of_variable("DECODE_TOKEN_BLACKLIST", [&] { return parse_ranges(env.get("DECODE_TOKEN_BLACKLIST")); });
  std::string temperature = env.get("DFLASH_CONFIDENCE_HEAD_TEMPERATURE");
  if (temperature.empty()) temperature = "1";
  args.confidence_temperature =
      of_variable("DFLASH_CONFIDENCE_HEAD_TEMPERATURE", [&] { return parse_numbers(temperature); });
  if (env.is_set("ENABLE_MTP_VARLEN")) {
    args.spec_length = env.get("ENABLE_MTP_VARLEN") == "1" ? SpecLength::kThreshold : SpecLength::kFixed;
  }
  args.batch_size_interval = parse_integer(env.get("CUDAGRAPH_BATCH_SIZE_INTERVAL"), 1, INT32_MAX);
}

Status read_number(const std::string& path, const Json& config, std::string_view key,
                   const std::function<void(double)>& set) {
  const Json* value = config.find(key);
  if (value == nullptr || value->is_null()) return {};
  const auto number = value->as_double();
  if (!number) {
    return errorf(ErrorCode::kInvalidArgument, "{}: {} is {}, a number is expected", path, key,
                  base::dump_json(*value));
  }
  set(*number);
  return {};
}

}  // namespace

void SamplingFlags::define(Arguments& a) {
  a.integer("--max-tokens", "length of the completion; default 2048 or what the context leaves", {1, 393216},
            max_tokens);
  a.number("--temperature", "default: the model's generation_config.json, else 1; 0 = greedy", {0, 2}, temperature);
  a.number("--top-p", "smallest set of this mass; default: as --temperature", {1e-9, 1}, top_p);
  a.integer("--top-k", "-1 and 0 = off", {-1, INT32_MAX}, top_k);
  a.number("--min-p", "share of the best token's probability", {0, 1}, min_p);
  a.integer("--seed", "default: drawn from the system and reported", {0, INT64_MAX}, seed);
  a.flag("--greedy", "always the likeliest token", greedy);
  a.add({"--stop", "TEXT", "ends the answer before this text (repeatable)", Arguments::Arity::kMany},
        [this](const std::string& value) {
          // The limits of the engine (engine.md 14); in the chat form only the parser sees these strings.
          constexpr std::size_t kMostStops = 64;
          constexpr std::size_t kMostBytes = 1024;
          if (value.empty() || value.size() > kMostBytes) {
            usage_error("{} bytes; accepted: 1 .. {}", value.size(), kMostBytes);
          }
          if (const auto offset = tokenizer::find_invalid_utf8(value)) usage_error("invalid UTF-8 at byte {}", *offset);
          if (stop.size() >= kMostStops) usage_error("more than {} texts", kMostStops);
          stop.push_back(value);
        });
  a.integer("--logprobs", "log-probability of each token and of the K best", {0, 1000}, logprobs);
  a.add({"--drafts", "auto|off|N", "speculative drafts a step; texts do not depend on them"},
        [this](const std::string& value) {
          if (value != "auto" && value != "off") parse_integer(value, 0, 64);
          drafts = value;
        });
  a.bind("--drafts", "USE_NEXTN_DECODE");
}

Status apply_generation_config(const std::string& folder, SamplingParams& params) {
  const std::string path = folder + "/generation_config.json";
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return {};
  DI_ASSIGN(const std::string text, base::read_file(path));  // part of a checkpoint: never a pipe
  auto parsed = base::parse_json(text);
  if (!parsed) return with_context(std::move(parsed).error(), path);
  const Json& config = *parsed;
  if (!config.is_object()) {
    return errorf(ErrorCode::kInvalidArgument, "{}: an object is expected, not {}", path, config.type_name());
  }
  DI_TRY(read_number(path, config, "temperature", [&](double value) { params.temperature = value; }));
  DI_TRY(read_number(path, config, "top_p", [&](double value) { params.top_p = value; }));
  double top_k = static_cast<double>(params.top_k);
  DI_TRY(read_number(path, config, "top_k", [&](double value) { top_k = value; }));
  if (!(top_k >= -1 && top_k <= INT32_MAX)) {
    return errorf(ErrorCode::kInvalidArgument, "{}: top_k is {}, accepted: -1 .. {}", path, top_k, INT32_MAX);
  }
  params.top_k = static_cast<std::int64_t>(top_k);
  const Json* sample = config.find("do_sample");
  if (sample != nullptr && sample->is_bool() && !sample->boolean()) params.temperature = 0;
  return {};
}

Status apply_request(const Json& body, const prompt::InferenceSettings& inference, SamplingParams& params) {
  if (inference.choices != 1)
    return errorf(ErrorCode::kUnsupported, "n = {}: a command makes one completion", inference.choices);
  if (inference.constraint && inference.constraint->kind != "tool_call" &&
      inference.constraint->kind != "tool_call_required") {
    return errorf(ErrorCode::kUnsupported,
                  "response_format \"{}\" needs a grammar, which is not part of this build yet",
                  inference.constraint->kind);
  }
  const auto given = [&](std::string_view key) { return body.find(key) != nullptr && !body.find(key)->is_null(); };
  if (given("temperature")) params.temperature = double{inference.temperature};
  if (given("top_p")) params.top_p = double{inference.top_p};
  if (given("presence_penalty")) params.presence_penalty = double{inference.presence_penalty};
  if (given("frequency_penalty")) params.frequency_penalty = double{inference.frequency_penalty};
  if (inference.max_tokens) params.max_tokens = *inference.max_tokens;
  if (inference.seed) params.seed = static_cast<std::uint64_t>(*inference.seed);
  if (inference.logprobs) params.logprobs = inference.top_logprobs.value_or(0);
  return {};
}

void apply_flags(const SamplingFlags& flags, SamplingParams& params) {
  params.temperature = flags.greedy ? 0 : flags.temperature.value_or(params.temperature);
  params.top_p = flags.top_p.value_or(params.top_p);
  params.top_k = flags.top_k.value_or(params.top_k);
  params.min_p = flags.min_p.value_or(params.min_p);
  params.max_tokens = flags.max_tokens.value_or(params.max_tokens);
  if (flags.seed) params.seed = static_cast<std::uint64_t>(*flags.seed);
  if (flags.logprobs) params.logprobs = flags.logprobs;
  if (!flags.stop.empty()) params.stop = flags.stop;
}

EngineArgs engine_args(const ModelFlags& model, const SamplingFlags& sampling, const Context& context,
                       const std::string& folder, std::int64_t max_model_len) {
  EngineArgs args;
  args.model = folder;
  args.num_threads = static_cast<int>(model.threads);
  args.cpu_isa = model.isa;
  args.graph_mode = model.graph_mode == "eager" ? GraphMode::kEager : GraphMode::kGraph;
  args.settings = model.settings(context);
  args.max_model_len = max_model_len;
  if (sampling.drafts == "off") args.num_drafts = 0;
  if (sampling.drafts != "off" && sampling.drafts != "auto") {
    args.num_drafts = parse_integer(sampling.drafts, 0, 64);
    args.spec_length = SpecLength::kFixed;
  }
  apply_environment(context.env, args);
  return args;
}

Result<std::unique_ptr<LLM>> open_llm(const EngineArgs& args) {
  Progress progress("loading");
  return LLM::create(args, [&](std::string_view stage, double done) { progress.update(stage, done); });
}

namespace {

/// Turns engine outputs into events.
class EventSource {
 public:
  EventSource(Answer& answer, const EventSink& sink) : answer_(answer), sink_(sink) {}

  Status open(const std::optional<prompt::ParsingOptions>& parsing, const tokenizer::Tokenizer& tokenizer) {
    if (!parsing) return {};
    DI_ASSIGN(parser_, prompt::OutputParser::for_tokens(*parsing, tokenizer));
    return {};
  }

  Result<StreamAction> take(const RequestOutput& output) {
    if (!parser_) {
      if (!output.text.empty()) deliver({{prompt::ParseEvent::Kind::kContent, 0, output.text}});
    } else if (output.token_id >= 0 && !is_end(output)) {
      DI_ASSIGN(const auto events, parser_->push_tokens({&output.token_id, 1}));
      deliver(events);
    }
    if (parser_ && parser_->finished()) return StreamAction::kStop;
    return interrupted() ? StreamAction::kStop : StreamAction::kContinue;
  }

  void finish(const Completion& completion) {
    if (!parser_) {
      answer_.parsed.finish_reason = finish_reason_name(completion.finish_reason);
      return;
    }
    if (!parser_->finished()) deliver(parser_->finish(finish_reason_name(completion.finish_reason)));
  }

 private:
  // The token that ends a sequence has no text; with a parser no stop strings are given to the engine.
  static bool is_end(const RequestOutput& output) {
    return output.finished && output.finish_reason == FinishReason::kStop;
  }
  void deliver(const std::vector<prompt::ParseEvent>& events) {
    prompt::accumulate(answer_.parsed, events);
    for (const prompt::ParseEvent& event : events) sink_(event);
  }

  Answer& answer_;
  const EventSink& sink_;
  std::optional<prompt::OutputParser> parser_;
};

}  // namespace

Result<Answer> generate(LLM& llm, const std::vector<std::int32_t>& prompt, const SamplingParams& params,
                        const std::optional<prompt::ParsingOptions>& parsing, const EventSink& sink) {
  Answer answer;
  EventSource source(answer, sink);
  DI_TRY(source.open(parsing, *llm.engine().loaded().tokenizer));
  SamplingParams given = params;
  if (parsing) given.stop.clear();  // they belong to the answer text, which only the parser knows
  Status failed;
  DI_ASSIGN(auto completions, llm.stream(prompt, given, [&](const RequestOutput& output) {
    const auto action = source.take(output);
    if (action) return *action;
    failed = tl::unexpected(action.error());
    return StreamAction::kStop;
  }));
  DI_TRY(failed);
  answer.completion = std::move(completions.front());
  if (answer.completion.error) return tl::unexpected(*answer.completion.error);
  answer.interrupted = interrupted();
  source.finish(answer.completion);
  return answer;
}

void StreamPrinter::enter(prompt::ParseEvent::Kind kind) {
  if (last_ == kind) return;
  if (last_ == prompt::ParseEvent::Kind::kReasoning) print("\n\n");
  if (last_ == prompt::ParseEvent::Kind::kArguments || last_ == prompt::ParseEvent::Kind::kCall) {
    if (kind != prompt::ParseEvent::Kind::kArguments) print("]\n");
  }
  if (kind == prompt::ParseEvent::Kind::kCall && last_ == prompt::ParseEvent::Kind::kContent) print("\n");
  last_ = kind;
}

void StreamPrinter::show(const prompt::ParseEvent& event) {
  using Kind = prompt::ParseEvent::Kind;
  if (event.kind == Kind::kFinish) return;
  if (event.kind == Kind::kCall && last_ == Kind::kCall) print("]\n");
  enter(event.kind);
  switch (event.kind) {
    case Kind::kReasoning: print(inked(Ink::kDim, event.text)); break;
    case Kind::kCall: print(inked(Ink::kCyan, "[call " + event.text) + " "); break;
    default: print(event.text); break;
  }
  line_open_ = event.text.empty() ? line_open_ : !event.text.ends_with('\n');
  flush_output();
}

void StreamPrinter::finish() {
  const bool in_call = last_ == prompt::ParseEvent::Kind::kCall || last_ == prompt::ParseEvent::Kind::kArguments;
  if (in_call) print("]\n");
  if (!in_call && line_open_) print("\n");
  flush_output();
}

Json tool_calls_json(const prompt::ParsedCompletion& parsed) {
  Json out = Json::array();
  for (const prompt::ParsedCall& call : parsed.tool_calls) {
    out.push(Json(Json::Object{{"name", call.name}, {"arguments", call.arguments}}));
  }
  return out;
}

Json usage_json(const Usage& usage) {
  return Json(Json::Object{{"prompt_tokens", usage.prompt_tokens},
                           {"completion_tokens", usage.completion_tokens},
                           {"cached_tokens", usage.cached_tokens}});
}

Json timings_json(const Timings& timings, double load_s) {
  return Json(Json::Object{{"load_s", load_s},
                           {"prefill_s", timings.prefill_s},
                           {"decode_s", timings.decode_s},
                           {"tokens_per_s", timings.tokens_per_s},
                           {"mean_accepted_len", timings.mean_accepted_len}});
}

}  // namespace deepinfer::cli
