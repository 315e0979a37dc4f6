#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <random>
#include <set>
#include <utility>

#include "base/error.h"
#include "deepinfer/engine.h"
#include "engine/choice.h"
#include "engine/load.h"

namespace deepinfer {

using engine::Choice;
using engine::Clock;
using engine::RequestInfo;
using engine::SamplingRules;

namespace {

// Prompt rows with logits are computed in tiles: 64 rows of a 129,280 vocabulary are 33 MB.
constexpr std::int64_t kLogprobTile = 64;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

std::uint64_t system_seed() {
  std::random_device device;
  return std::uint64_t{device()} << 32 | device();
}

// Ids that are never sampled, ascending: the blacklist, ids without a token, and tokens that only occur in prompts.
std::vector<std::int32_t> static_bans(const EngineArgs& args, const tokenizer::Tokenizer& tokenizer,
                                      const checkpoint::ModelConfig& config) {
  std::set<std::int32_t> out(args.token_blacklist.begin(), args.token_blacklist.end());
  for (std::int64_t id = tokenizer.vocab_size(); id < config.vocab_size; ++id)
    out.insert(static_cast<std::int32_t>(id));
  if (args.control_tokens == ControlTokens::kBan) {
    static constexpr std::string_view kAnswerMarkers[] = {"<think>", "</think>", "｜DSML｜"};
    for (const tokenizer::AddedToken& token : tokenizer.added_tokens()) {
      const bool marker = std::ranges::find(kAnswerMarkers, token.literal) != std::end(kAnswerMarkers);
      if (!marker && token.id != config.eos_token_id) out.insert(token.id);
    }
  }
  return {out.begin(), out.end()};
}

Status check_prompt(std::span<const std::int32_t> prompt, const engine::LoadedModel& loaded) {
  const std::int64_t vocab = loaded.model->config().vocab_size;
  const std::int64_t context = loaded.runner->options().max_model_len;
  const auto image = loaded.tokenizer->token_to_id("<｜deepseek_image｜>");
  if (prompt.empty()) return errorf(ErrorCode::kInvalidArgument, "the prompt has no tokens");
  const std::int64_t length = std::ssize(prompt);
  if (length >= context) {
    return errorf(ErrorCode::kInvalidArgument, "the prompt of {} tokens does not fit a context of {} with an answer",
                  length, context);
  }
  for (std::int64_t i = 0; i < length; ++i) {
    const std::int32_t id = prompt[static_cast<std::size_t>(i)];
    if (id < 0 || id >= vocab) {
      return errorf(ErrorCode::kInvalidArgument, "prompt token {} is {}, accepted: 0 .. {}", i, id, vocab - 1);
    }
    if (id == image) return errorf(ErrorCode::kUnsupported, "prompt token {} is an image; only text is supported", i);
  }
  return {};
}

}  // namespace

double SpecStats::mean_verified_len() const {
  std::int64_t sum = 0;
  for (const std::int64_t count : verified) sum += count;
  return decode_steps > 0 ? static_cast<double>(sum) / static_cast<double>(decode_steps) : 0;
}

struct LLMEngine::Impl {
  using ChoicePtr = std::unique_ptr<Choice>;

  Impl(EngineArgs settings, engine::LoadedModel parts);

  // Any thread.
  Status add(const std::string& id, std::span<const std::int32_t> prompt, const SamplingParams& params);
  Result<SamplingRules> make_rules(const SamplingParams& params) const;
  Result<std::shared_ptr<RequestInfo>> make_info(const std::string& id, std::span<const std::int32_t> prompt,
                                                 const SamplingParams& params) const;

  // The stepping thread.
  void take_inbox(std::vector<RequestOutput>& out);
  void admit(std::vector<RequestOutput>& out);
  void prefill(std::vector<RequestOutput>& out);
  void decode(std::vector<RequestOutput>& out);
  std::vector<engine::Proposal> propose(std::span<Choice* const> choices);
  void commit(Choice& choice, const engine::Proposal& proposal, std::span<const float> rows,
              std::vector<RequestOutput>& out);
  void append_anchor(Choice& choice);
  void fail_all(const Error& error, std::vector<RequestOutput>& out);
  void remove_finished();
  std::span<const float> row(std::span<const float> rows, std::size_t i) const {
    return rows.subspan(i * vocab, vocab);
  }

  EngineArgs args;
  engine::LoadedModel loaded;
  std::vector<std::int32_t> banned;
  std::size_t vocab;
  std::deque<ChoicePtr> waiting;
  std::vector<ChoicePtr> running;
  SpecStats stats;
  double confidence_error_sum = 0;
  std::int64_t confidence_count = 0;

  mutable std::mutex mutex;
  std::condition_variable work;
  std::vector<ChoicePtr> inbox;                 // guarded by mutex
  std::set<std::string> aborts;                 // guarded by mutex
  std::map<std::string, std::int64_t> pending;  // guarded by mutex: unfinished choices by request
  bool woken = false;                           // guarded by mutex
};

LLMEngine::Impl::Impl(EngineArgs settings, engine::LoadedModel parts)
    : args(std::move(settings)),
      loaded(std::move(parts)),
      banned(static_bans(args, *loaded.tokenizer, loaded.model->config())),
      vocab(static_cast<std::size_t>(loaded.model->config().vocab_size)) {
  const auto num_drafts = static_cast<std::size_t>(loaded.runner->options().num_drafts);
  if (!loaded.drafter) loaded.drafter = engine::make_drafter(num_drafts > 0 ? "dspark" : "none", *loaded.runner);
  stats.proposed.resize(num_drafts);
  stats.verified.resize(num_drafts);
  stats.accepted.resize(num_drafts);
}

Result<SamplingRules> LLMEngine::Impl::make_rules(const SamplingParams& params) const {
  DI_TRY(validate(params));
  DI_TRY(engine::check_ids(params, static_cast<std::int64_t>(vocab)));
  SamplingRules rules;
  rules.params = params;
  rules.draw = params.draw.value_or(args.draw);
  rules.spec_accept = params.spec_accept.value_or(args.spec_accept);
  rules.logprob_mode = params.logprob_mode.value_or(args.logprob_mode);
  rules.banned = banned;
  std::set<std::int32_t> ends(params.stop_token_ids.begin(), params.stop_token_ids.end());
  if (params.end_tokens == EndTokens::kStop) {
    ends.insert(static_cast<std::int32_t>(loaded.model->config().eos_token_id));
  }
  rules.end_ids.assign(ends.begin(), ends.end());
  for (const std::string& word : params.bad_words) {
    for (const std::string& form : {word, " " + word}) {
      DI_ASSIGN(auto ids, loaded.tokenizer->encode(form, tokenizer::SpecialMode::kText));
      if (!ids.empty()) rules.bad_words.push_back(std::move(ids));
    }
  }
  const std::set<std::int32_t> allowed(params.allowed_token_ids.begin(), params.allowed_token_ids.end());
  rules.allowed.assign(allowed.begin(), allowed.end());
  return rules;
}

Result<std::shared_ptr<RequestInfo>> LLMEngine::Impl::make_info(const std::string& id,
                                                                std::span<const std::int32_t> prompt,
                                                                const SamplingParams& params) const {
  const engine::RunnerOptions& options = loaded.runner->options();
  DI_TRY(check_prompt(prompt, loaded));
  auto info = std::make_shared<RequestInfo>();
  info->id = id;
  info->prompt.assign(prompt.begin(), prompt.end());
  info->seed = params.seed ? *params.seed : system_seed();
  info->limit = std::min(params.max_tokens, options.max_model_len - std::ssize(prompt));
  info->num_drafts = std::min(params.num_drafts.value_or(options.num_drafts), options.num_drafts);
  info->policy = {params.spec_length.value_or(args.spec_length), args.spec_threshold, args.confidence_temperature};
  info->sum_smaller = args.sum_smaller_probs;
  info->added = Clock::now();
  return info;
}

Status LLMEngine::Impl::add(const std::string& id, std::span<const std::int32_t> prompt, const SamplingParams& params) {
  DI_ASSIGN(const SamplingRules rules, make_rules(params));
  DI_ASSIGN(const std::shared_ptr<const RequestInfo> info, make_info(id, prompt, params));
  std::vector<ChoicePtr> choices;
  for (std::int64_t i = 0; i < params.num_choices; ++i) {
    choices.push_back(std::make_unique<Choice>(info, i, rules, *loaded.tokenizer));
  }
  const std::scoped_lock lock(mutex);
  if (!pending.emplace(id, params.num_choices).second) {
    return errorf(ErrorCode::kInvalidArgument, "request id \"{}\" is in use", id);
  }
  std::ranges::move(choices, std::back_inserter(inbox));
  work.notify_all();
  return {};
}

void LLMEngine::Impl::take_inbox(std::vector<RequestOutput>& out) {
  std::set<std::string> cancelled;
  {
    const std::scoped_lock lock(mutex);
    std::ranges::move(inbox, std::back_inserter(waiting));
    inbox.clear();
    cancelled.swap(aborts);
    woken = false;
  }
  const auto cancel = [&](ChoicePtr& choice) {
    const bool hit = choice->phase() != Choice::Phase::kFinished && cancelled.contains(choice->info().id);
    if (hit) choice->finish(FinishReason::kAborted, out);
    return hit;
  };
  for (ChoicePtr& choice : running) cancel(choice);
  for (ChoicePtr& choice : waiting) {
    if (cancel(choice)) running.push_back(std::move(choice));  // remove_finished() takes it from there
  }
  std::erase(waiting, nullptr);
}

void LLMEngine::Impl::admit(std::vector<RequestOutput>& out) {
  while (!waiting.empty() && std::ssize(running) < args.max_num_seqs) {
    ChoicePtr choice = std::move(waiting.front());
    waiting.pop_front();
    choice->start();
    auto sequence = loaded.runner->open_sequence();
    if (sequence) {
      choice->sequence = std::move(*sequence);
      for (const std::int32_t token : choice->info().prompt) loaded.runner->append_token(choice->sequence, token);
      const std::int64_t prompt = choice->num_prompt();
      choice->sequence.tail_start = choice->wants_prompt_logprobs() ? 0 : loaded.runner->tail_start(prompt);
      const auto reserved =
          loaded.runner->reserve(choice->sequence, prompt + choice->info().limit + choice->info().num_drafts);
      if (!reserved) choice->fail(reserved.error(), out);
    } else {
      choice->fail(sequence.error(), out);
    }
    running.push_back(std::move(choice));
  }
}

// One chunk of the first prompt that is not complete.
void LLMEngine::Impl::prefill(std::vector<RequestOutput>& out) {
  const auto it = std::ranges::find(running, Choice::Phase::kPrefill, [](const ChoicePtr& c) { return c->phase(); });
  if (it == running.end()) return;
  Choice& choice = **it;
  const bool score = choice.wants_prompt_logprobs();
  const std::int64_t first = choice.sequence.length;
  const std::int64_t left = choice.num_prompt() - first;
  std::int64_t count = args.prefill_chunk > 0 ? std::min(args.prefill_chunk, left) : left;
  if (score) count = std::min(count, kLogprobTile);
  const bool last = count == left;
  const engine::LogitRows wanted = score  ? engine::LogitRows::kAll
                                   : last ? engine::LogitRows::kLast
                                          : engine::LogitRows::kNone;
  const Tensor logits = loaded.runner->prefill(std::array{engine::PrefillItem{&choice.sequence, count, wanted}});
  choice.sequence.length += count;
  const std::span<const float> rows =
      wanted == engine::LogitRows::kNone ? std::span<const float>() : logits.span<float>();
  if (score) {
    if (auto scored = choice.score_prompt(first, rows, vocab); !scored) return choice.fail(scored.error(), out);
  }
  if (!last) return;
  if (choice.info().limit == 0) return choice.finish(FinishReason::kLength, out);
  const auto row_of_last = rows.last(vocab);
  const auto decision = engine::decide_row(choice.sampler(), row_of_last, {}, 0);
  if (!decision) return choice.fail(decision.error(), out);
  choice.emit(*decision, row_of_last, out);
  if (choice.phase() == Choice::Phase::kDecode) append_anchor(choice);
}

void LLMEngine::Impl::append_anchor(Choice& choice) {
  loaded.runner->append_token(choice.sequence, choice.sampler().history().generated().back());
}

std::vector<engine::Proposal> LLMEngine::Impl::propose(std::span<Choice* const> choices) {
  const auto begin = Clock::now();
  std::vector<engine::DraftRequest> requests;
  std::vector<std::size_t> owner;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    Choice& choice = *choices[i];
    const std::int64_t count = std::min(choice.info().num_drafts, choice.num_left() - 1);
    if (count <= 0) continue;
    owner.push_back(i);
    requests.push_back(
        {&choice.sequence, choice.sequence.tokens.back(), &choice.sampler(), count, &choice.info().policy});
  }
  std::vector<engine::Proposal> out(choices.size());
  if (requests.empty()) return out;
  std::vector<engine::Proposal> made = loaded.drafter->draft(requests);
  for (std::size_t i = 0; i < owner.size(); ++i) {
    for (std::int64_t k = 0; k < requests[i].count; ++k) ++stats.proposed[static_cast<std::size_t>(k)];
    for (std::size_t k = 0; k < made[i].tokens.size(); ++k) ++stats.verified[k];
    out[owner[i]] = std::move(made[i]);
  }
  stats.draft_s += seconds_since(begin);
  return out;
}

void LLMEngine::Impl::decode(std::vector<RequestOutput>& out) {
  std::vector<Choice*> choices;
  for (const ChoicePtr& choice : running) {
    if (choice->phase() == Choice::Phase::kDecode) choices.push_back(choice.get());
  }
  if (choices.empty()) return;
  const std::vector<engine::Proposal> proposals = propose(choices);
  const auto begin = Clock::now();
  std::vector<engine::DecodeItem> items;
  for (std::size_t i = 0; i < choices.size(); ++i) {
    engine::Sequence& sequence = choices[i]->sequence;
    for (const std::int32_t draft : proposals[i].tokens) loaded.runner->append_token(sequence, draft);
    items.push_back({&sequence, std::ssize(sequence.tokens) - sequence.length});
  }
  const auto logits = loaded.runner->decode(items);
  stats.verify_s += seconds_since(begin);
  if (!logits) return fail_all(logits.error(), out);
  std::span<const float> rows = logits->span<float>();
  for (std::size_t i = 0; i < choices.size(); ++i) {
    const std::size_t size = static_cast<std::size_t>(items[i].count) * vocab;
    commit(*choices[i], proposals[i], rows.first(size), out);
    rows = rows.subspan(size);
  }
}

void LLMEngine::Impl::commit(Choice& choice, const engine::Proposal& proposal, std::span<const float> rows,
                             std::vector<RequestOutput>& out) {
  using Draft = engine::RowDecision::Draft;
  const std::int64_t before = choice.num_generated();
  choice.begin_step(std::ssize(proposal.tokens));
  for (std::size_t j = 0; j <= proposal.tokens.size(); ++j) {
    const auto decision = engine::decide_row(choice.sampler(), row(rows, j), proposal, j);
    if (!decision) {
      choice.fail(decision.error(), out);
      break;
    }
    const bool hit = decision->draft == Draft::kAccepted;
    if (decision->draft != Draft::kNone && j < proposal.confidence.size()) {
      confidence_error_sum += choice.info().policy.acceptance(j, proposal.confidence[j]) - (hit ? 1 : 0);
      ++confidence_count;
    }
    choice.emit(*decision, row(rows, j), out);
    if (hit) ++stats.accepted[j];
    if (!hit || choice.phase() == Choice::Phase::kFinished) break;
  }
  const std::int64_t emitted = choice.num_generated() - before;
  ++stats.decode_steps;
  stats.tokens += emitted;
  if (choice.phase() == Choice::Phase::kFinished) return;
  // Rejected rows are dropped by forgetting their tokens: rings and pending entries are long enough.
  engine::Sequence& sequence = choice.sequence;
  sequence.length += emitted;
  const auto kept = static_cast<std::size_t>(sequence.length);
  sequence.tokens.resize(kept);
  if (!sequence.classes.empty()) sequence.classes.resize(kept);
  append_anchor(choice);
}

void LLMEngine::Impl::fail_all(const Error& error, std::vector<RequestOutput>& out) {
  for (ChoicePtr& choice : running) {
    if (choice->phase() != Choice::Phase::kFinished) choice->fail(error, out);
  }
}

void LLMEngine::Impl::remove_finished() {
  std::vector<std::string> done;
  for (ChoicePtr& choice : running) {
    if (choice->phase() != Choice::Phase::kFinished) continue;
    if (choice->sequence.slot > 0) loaded.runner->close_sequence(choice->sequence);
    done.push_back(choice->info().id);
    choice.reset();
  }
  std::erase(running, nullptr);
  const std::scoped_lock lock(mutex);
  for (const std::string& id : done) {
    if (--pending.at(id) > 0) continue;
    pending.erase(id);
    aborts.erase(id);  // one that came too late must not meet a later request of the same name
  }
}

LLMEngine::LLMEngine(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
LLMEngine::~LLMEngine() = default;

Result<std::unique_ptr<LLMEngine>> LLMEngine::create(const EngineArgs& args, const ProgressFn& progress) {
  DI_ASSIGN(engine::LoadedModel loaded, engine::load_model(args, progress));
  return create(args, std::move(loaded));
}

Result<std::unique_ptr<LLMEngine>> LLMEngine::create(const EngineArgs& args, engine::LoadedModel loaded) {
  DI_ASSIGN(EngineArgs resolved, engine::resolve(args));
  const std::int64_t vocab = loaded.model->config().vocab_size;
  for (const std::int32_t id : resolved.token_blacklist) {
    if (id < 0 || id >= vocab) {
      return errorf(ErrorCode::kInvalidArgument, "token_blacklist holds {}, accepted: 0 .. {}", id, vocab - 1);
    }
  }
  return std::unique_ptr<LLMEngine>(new LLMEngine(std::make_unique<Impl>(std::move(resolved), std::move(loaded))));
}

Status LLMEngine::add_request(const std::string& request_id, std::span<const std::int32_t> prompt_token_ids,
                              const SamplingParams& params) {
  return impl_->add(request_id, prompt_token_ids, params);
}

bool LLMEngine::abort_request(const std::string& request_id) {
  const std::scoped_lock lock(impl_->mutex);
  if (!impl_->pending.contains(request_id)) return false;
  impl_->aborts.insert(request_id);
  impl_->work.notify_all();
  return true;
}

std::vector<RequestOutput> LLMEngine::step() {
  std::vector<RequestOutput> out;
  // The engine loop is one of the four borders that catch broken invariants: requests end, the engine stays usable.
  try {
    impl_->take_inbox(out);
    impl_->admit(out);
    impl_->prefill(out);
    impl_->decode(out);
  } catch (const std::exception& e) {
    impl_->fail_all({ErrorCode::kInternal, std::string("executor_failed: ") + e.what(), {}}, out);
  }
  impl_->remove_finished();
  return out;
}

bool LLMEngine::has_unfinished_requests() const { return get_num_unfinished_requests() > 0; }

std::int64_t LLMEngine::get_num_unfinished_requests() const {
  const std::scoped_lock lock(impl_->mutex);
  return std::ssize(impl_->pending);
}

void LLMEngine::wait_for_work(std::chrono::milliseconds timeout) {
  std::unique_lock lock(impl_->mutex);
  impl_->work.wait_for(lock, timeout, [&] { return impl_->woken || !impl_->pending.empty(); });
}

void LLMEngine::wake() {
  const std::scoped_lock lock(impl_->mutex);
  impl_->woken = true;
  impl_->work.notify_all();
}

EngineInfo LLMEngine::info() const {
  const engine::LoadedModel& loaded = impl_->loaded;
  const engine::RunnerOptions& options = loaded.runner->options();
  EngineInfo out;
  out.vocab_size = loaded.model->config().vocab_size;
  out.max_model_len = options.max_model_len;
  out.num_drafts = options.num_drafts;
  out.workspace_bytes = loaded.runner->workspace_bytes();
  out.load_s = loaded.load_s;
  out.non_default_modes = model::non_default_modes(options.modes);
  if (impl_->args.draw == Draw::kCdf) out.non_default_modes.emplace_back("draw=cdf");
  if (impl_->args.spec_accept == SpecAccept::kRejection) out.non_default_modes.emplace_back("spec_accept=rejection");
  if (impl_->args.logprob_mode == LogprobMode::kProcessed) out.non_default_modes.emplace_back("logprob_mode=processed");
  return out;
}

SpecStats LLMEngine::spec_stats() const {
  SpecStats out = impl_->stats;
  if (impl_->confidence_count > 0) {
    out.confidence_error = impl_->confidence_error_sum / static_cast<double>(impl_->confidence_count);
  }
  return out;
}

Result<std::vector<std::int32_t>> LLMEngine::tokenize(std::string_view text, Special special) const {
  return impl_->loaded.tokenizer->encode(
      text, special == Special::kParse ? tokenizer::SpecialMode::kParse : tokenizer::SpecialMode::kText);
}

Result<std::string> LLMEngine::detokenize(std::span<const std::int32_t> ids) const {
  return impl_->loaded.tokenizer->decode(ids);
}

const engine::LoadedModel& LLMEngine::loaded() const { return impl_->loaded; }

}  // namespace deepinfer
