// The validation prompts of goldens/tiny-chat through the whole engine: greedy texts against the oracle's, and the same
// texts with drafts on and off, greedy and sampled.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "base/io.h"
#include "deepinfer/engine.h"
#include "verify/model_checks.h"

namespace deepinfer::verify {
namespace {

struct Prompt {
  std::string id;
  std::string task;
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> oracle;
  double min_margin = 0;
};

struct Completion {
  std::vector<std::int32_t> tokens;
  std::int64_t decode_steps = 0;
};
using Completions = std::map<std::string, Completion>;

Result<std::vector<Prompt>> read_prompts(const std::string& dir, const LLMEngine& engine) {
  DI_ASSIGN(const std::string text, base::read_file(dir + "/validation.jsonl"));
  std::vector<Prompt> out;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const std::string_view line(text.data() + begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    DI_ASSIGN(const base::Json row, base::parse_json(line));
    const base::Json* prompt = row.find("prompt");
    const base::Json* task = row.find("task");
    const base::Json* oracle = row.find("oracle_ids");
    if (prompt == nullptr || !prompt->is_string() || task == nullptr || !task->is_string() || oracle == nullptr ||
        !oracle->is_array()) {
      return errorf(ErrorCode::kInvalidArgument, "{}/validation.jsonl line {} lacks prompt, task or oracle_ids", dir,
                    out.size() + 1);
    }
    Prompt p{.id = fmt::format("{}", out.size()),
             .task = task->string(),
             .ids = {},
             .oracle = {},
             .min_margin = number(row, "oracle_min_margin", 0)};
    DI_ASSIGN(p.ids, engine.tokenize(prompt->string(), LLMEngine::Special::kParse));
    for (const base::Json& id : oracle->items())
      p.oracle.push_back(static_cast<std::int32_t>(id.as_int().value_or(-1)));
    out.push_back(std::move(p));
  }
  return out;
}

constexpr std::int64_t kMaxTokens = 96;  // the longest oracle completion has 65 tokens

Result<Completions> complete(LLMEngine& engine, std::span<const Prompt> prompts, double temperature,
                             std::int64_t num_drafts) {
  Completions out;
  for (const Prompt& prompt : prompts) {
    SamplingParams params;
    params.temperature = temperature;
    params.max_tokens = kMaxTokens;
    params.seed = 20'000 + std::stoull(prompt.id);
    params.num_drafts = num_drafts;
    params.spec_length = SpecLength::kFixed;
    DI_TRY(engine.add_request(prompt.id, prompt.ids, params));
  }
  while (engine.has_unfinished_requests()) {
    for (const RequestOutput& output : engine.step()) {
      if (output.error) return tl::unexpected(*output.error);
      Completion& completion = out[output.request_id];
      if (output.token_id >= 0) completion.tokens.push_back(output.token_id);
      if (output.finished) completion.decode_steps = output.timings.decode_steps;
    }
  }
  return out;
}

struct Tally {
  std::int64_t prompts = 0, exact = 0, missed = 0, changed = 0, tokens = 0, steps = 0;
  void operator+=(const Tally& other) {
    prompts += other.prompts;
    exact += other.exact;
    missed += other.missed;
    changed += other.changed;
    tokens += other.tokens;
    steps += other.steps;
  }
  double per_step() const { return steps > 0 ? static_cast<double>(tokens) / static_cast<double>(steps) : 0; }
};

void add(Report& report, const std::string& name, double worst, double bound, const std::string& detail) {
  report.add(
      {"validation", name, worst, bound, worst <= bound ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail, detail});
}

}  // namespace

Result<Report> verify_validation(const GoldenFolder& golden, const ModelOptions& options) {
  EngineArgs args;
  args.model = options.model_dir;
  args.num_threads = options.num_threads;
  args.cpu_isa = options.cpu_isa;
  args.graph_mode = options.graph_mode == engine::GraphMode::kGraph ? GraphMode::kGraph : GraphMode::kEager;
  args.max_model_len = 2048;
  args.max_num_seqs = 1;
  args.prefill_chunk = 0;  // the oracle computes a prompt in one call
  args.control_tokens = ControlTokens::kAllow;
  args.settings = options.modes;
  args.settings.emplace_back("attention_list", "reference");
  DI_ASSIGN(const std::unique_ptr<LLMEngine> engine, LLMEngine::create(args));
  DI_ASSIGN(const std::vector<Prompt> prompts, read_prompts(golden.dir(), *engine));
  DI_ASSIGN(Completions drafted, complete(*engine, prompts, 0, engine->info().num_drafts));
  DI_ASSIGN(Completions plain, complete(*engine, prompts, 0, 0));
  DI_ASSIGN(Completions sampled, complete(*engine, prompts, 0.8, engine->info().num_drafts));
  DI_ASSIGN(Completions sampled_plain, complete(*engine, prompts, 0.8, 0));

  const double floor = number(golden.manifest(), "noise_floor", 0);
  std::map<std::string, Tally> tasks;
  Tally all;
  for (const Prompt& prompt : prompts) {
    const bool exact = plain[prompt.id].tokens == prompt.oracle;
    Tally one{.prompts = 1, .exact = exact ? 1 : 0, .missed = !exact && prompt.min_margin > floor ? 1 : 0};
    one.changed = (drafted[prompt.id].tokens != plain[prompt.id].tokens ? 1 : 0) +
                  (sampled[prompt.id].tokens != sampled_plain[prompt.id].tokens ? 1 : 0);
    one.steps = drafted[prompt.id].decode_steps;
    one.tokens = static_cast<std::int64_t>(drafted[prompt.id].tokens.size()) - 1;  // the first comes from the prompt
    tasks[prompt.task] += one;
    all += one;
  }
  Report report;
  for (const auto& [task, t] : tasks) {
    add(report, task, static_cast<double>(t.missed + t.changed), 0,
        fmt::format("exact {}/{}, {:.2f} tokens per verification, drafts changed {} texts", t.exact, t.prompts,
                    t.per_step(), t.changed));
  }
  add(report, "all: share that differs from the oracle",
      1 - static_cast<double>(all.exact) / static_cast<double>(all.prompts), 0.05,
      fmt::format("exact {}/{}", all.exact, all.prompts));
  add(report, "all: texts that drafts changed", static_cast<double>(all.changed), 0, "greedy and temperature 0.8");
  add(report, "all: verifications per 4 tokens", 4 / std::max(all.per_step(), 1e-9), 1,
      fmt::format("{:.3f} tokens per verification", all.per_step()));
  return report;
}

}  // namespace deepinfer::verify
