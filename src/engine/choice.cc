#include "engine/choice.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "engine/sampling/logprobs.h"

namespace deepinfer::engine {

namespace {

double seconds(Clock::duration d) { return std::chrono::duration<double>(d).count(); }

}  // namespace

Choice::Choice(std::shared_ptr<const RequestInfo> info, std::int64_t index, SamplingRules rules,
               const tokenizer::Tokenizer& tokenizer)
    : info_(std::move(info)),
      index_(index),
      sampler_(std::move(rules), info_->prompt, info_->seed + static_cast<std::uint64_t>(index) * kChoiceSeedStep),
      detokenizer_(tokenizer),
      scanner_(sampler_.rules().params.stop, sampler_.rules().params.stop_text) {}

bool Choice::wants_prompt_logprobs() const {
  return index_ == 0 && rules().params.prompt_logprobs == PromptLogprobs::kOn;
}

void Choice::start() {
  phase_ = Phase::kPrefill;
  started_ = Clock::now();
  timings_.queue_s = seconds(started_ - info_->added);
}

Status Choice::score_prompt(std::int64_t first, std::span<const float> rows, std::size_t vocab) {
  const bool processed = rules().logprob_mode == LogprobMode::kProcessed;
  const auto& prompt = info_->prompt;
  std::size_t next = static_cast<std::size_t>(first) + 1;
  for (std::size_t at = 0; at < rows.size() && next < prompt.size(); at += vocab, ++next) {
    std::span<const float> row = rows.subspan(at, vocab);
    DI_TRY(check_row(row, static_cast<std::int64_t>(next)));
    std::vector<float> copy;
    if (processed) {
      const Sampler before(rules(), std::span(prompt).first(next), info_->seed);
      DI_ASSIGN(copy, before.process(row));
      row = copy;
    }
    prompt_logprobs_.push_back(LogSoftmax(row).at(prompt[next]));
  }
  return {};
}

RequestOutput Choice::make_output() {
  RequestOutput output;
  output.request_id = info_->id;
  output.choice = index_;
  output.seed = info_->seed;
  output.usage = {num_prompt(), num_generated(), 0};
  output.prompt_logprobs = std::exchange(prompt_logprobs_, {});
  return output;
}

void Choice::add_logprobs(const RowDecision& decision, std::span<const float> logits, RequestOutput& output) const {
  if (info_->sum_smaller == SumSmallerProbs::kOn) {
    output.sum_smaller_probs = LogSoftmax(decision.processed).sum_smaller(decision.token);
  }
  const auto& wanted = rules().params.logprobs;
  if (!wanted) return;
  const bool raw = rules().logprob_mode == LogprobMode::kRaw;
  const LogSoftmax values(raw ? logits : std::span<const float>(decision.processed));
  output.logprob = values.at(decision.token);
  output.top_logprobs = values.top(*wanted);
  const bool inside = std::ranges::any_of(output.top_logprobs,
                                          [&](const TokenLogprob& entry) { return entry.token_id == decision.token; });
  if (!inside) output.top_logprobs.push_back({decision.token, *output.logprob});
}

void Choice::scan(std::string_view text, RequestOutput& output) {
  StopScanner::Output found = scanner_.push(text);
  output.text += found.text;
  if (!found.stop) return;
  text_cut_ = true;
  output.finish_reason = FinishReason::kStop;
  output.stop_reason = rules().params.stop[*found.stop];
}

void Choice::emit(const RowDecision& decision, std::span<const float> logits, std::vector<RequestOutput>& out) {
  const std::int32_t token = decision.token;
  if (num_generated() == 0) {
    first_token_ = Clock::now();
    timings_.prefill_s = seconds(first_token_ - started_);
  }
  if (timings_.decode_steps > 0) ++step_tokens_;
  if (decision.draft == RowDecision::Draft::kAccepted) ++timings_.drafts_accepted;
  sampler_.history().push(token);
  phase_ = Phase::kDecode;
  RequestOutput output = make_output();
  output.index = num_generated() - 1;
  output.token_id = token;
  add_logprobs(decision, logits, output);
  if (rules().is_end(token)) {
    output.finish_reason = FinishReason::kStop;
    const auto& stops = rules().params.stop_token_ids;
    if (std::ranges::find(stops, token) != stops.end()) output.stop_reason = std::to_string(token);
  } else if (const auto text = detokenizer_.push(token)) {  // a forced id outside the tokenizer has no text
    scan(*text, output);
  }
  if (output.finish_reason == FinishReason::kNone && num_left() == 0) output.finish_reason = FinishReason::kLength;
  if (output.finish_reason != FinishReason::kNone) close(output.finish_reason, output);
  out.push_back(std::move(output));
}

void Choice::close(FinishReason reason, RequestOutput& output) {
  phase_ = Phase::kFinished;
  output.finished = true;
  output.finish_reason = reason;
  if (!text_cut_) {
    StopScanner::Output tail = scanner_.push(detokenizer_.finish());
    output.text += tail.text;
    if (!tail.stop) output.text += scanner_.finish();
  }
  if (num_generated() > 0) timings_.decode_s = seconds(Clock::now() - first_token_);
  if (timings_.decode_s > 0) timings_.tokens_per_s = static_cast<double>(num_generated() - 1) / timings_.decode_s;
  if (timings_.decode_steps > 0) {
    timings_.mean_accepted_len = static_cast<double>(step_tokens_) / static_cast<double>(timings_.decode_steps);
  }
  output.timings = timings_;
}

void Choice::finish(FinishReason reason, std::vector<RequestOutput>& out) {
  RequestOutput output = make_output();
  close(reason, output);
  out.push_back(std::move(output));
}

void Choice::fail(Error error, std::vector<RequestOutput>& out) {
  RequestOutput output = make_output();
  output.error = std::move(error);
  close(FinishReason::kError, output);
  out.push_back(std::move(output));
}

void Choice::begin_step(std::int64_t num_drafts) {
  ++timings_.decode_steps;
  timings_.drafts_verified += num_drafts;
}

}  // namespace deepinfer::engine
