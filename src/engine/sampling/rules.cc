#include "engine/sampling/rules.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string_view>

#include "base/error.h"

namespace deepinfer {

namespace {

constexpr std::int64_t kMaxBiases = 1024;
constexpr std::int64_t kMaxStops = 64;
constexpr std::int64_t kMaxStopBytes = 1024;
constexpr std::int64_t kMaxTokens = 393'216;
constexpr std::int64_t kMaxLogprobs = 1000;
constexpr std::int64_t kMaxChoices = 16;

struct RealRange {
  std::string_view field;
  double value;
  double low;
  double high;
  bool open_low = false;
};

struct WholeRange {
  std::string_view field;
  std::int64_t value;
  std::int64_t low;
  std::int64_t high;
};

// NaN fails both comparisons.
Status check(const RealRange& r) {
  const bool above = r.open_low ? r.value > r.low : r.value >= r.low;
  if (above && r.value <= r.high) return {};
  return errorf(ErrorCode::kInvalidArgument, "{} is {}, accepted: {}{}, {}]", r.field, r.value, r.open_low ? "(" : "[",
                r.low, r.high);
}

Status check(const WholeRange& r) {
  if (r.value >= r.low && r.value <= r.high) return {};
  return errorf(ErrorCode::kInvalidArgument, "{} is {}, accepted: {} .. {}", r.field, r.value, r.low, r.high);
}

Status check_lists(const SamplingParams& p) {
  DI_TRY(check(WholeRange{"the number of logit_bias entries", std::ssize(p.logit_bias), 0, kMaxBiases}));
  for (const auto& [id, bias] : p.logit_bias) {
    if (!(std::abs(bias) <= 100)) {
      return errorf(ErrorCode::kInvalidArgument, "logit_bias of token {} is {}, accepted: [-100, 100]", id, bias);
    }
  }
  DI_TRY(check(WholeRange{"the number of stop strings", std::ssize(p.stop), 0, kMaxStops}));
  for (const std::string& stop : p.stop) {
    DI_TRY(check(WholeRange{"the length of a stop string in bytes", std::ssize(stop), 1, kMaxStopBytes}));
  }
  for (const std::string& word : p.bad_words) {
    if (word.empty()) return errorf(ErrorCode::kInvalidArgument, "bad_words holds an empty word");
  }
  return {};
}

Status check_counts(const SamplingParams& p) {
  if (p.top_k != -1) {
    DI_TRY(check(WholeRange{"top_k", p.top_k, 0, std::numeric_limits<std::int32_t>::max()}));
  }
  const std::int64_t least = p.prompt_logprobs == PromptLogprobs::kOn ? 0 : 1;
  DI_TRY(check(WholeRange{"max_tokens", p.max_tokens, least, kMaxTokens}));
  DI_TRY(check(WholeRange{"min_tokens", p.min_tokens, 0, p.max_tokens}));
  DI_TRY(check(WholeRange{"first_n_token_no_eos", p.first_n_token_no_eos, 0, kMaxTokens}));
  DI_TRY(check(WholeRange{"num_choices", p.num_choices, 1, kMaxChoices}));
  if (p.logprobs) DI_TRY(check(WholeRange{"logprobs", *p.logprobs, 0, kMaxLogprobs}));
  if (p.num_drafts) DI_TRY(check(WholeRange{"num_drafts", *p.num_drafts, 0, 64}));
  return {};
}

}  // namespace

Status validate(const SamplingParams& p) {
  for (const RealRange& range :
       {RealRange{"temperature", p.temperature, 0, 2}, RealRange{"top_p", p.top_p, 0, 1, true},
        RealRange{"min_p", p.min_p, 0, 1}, RealRange{"repetition_penalty", p.repetition_penalty, 0, 10, true},
        RealRange{"presence_penalty", p.presence_penalty, -2, 2},
        RealRange{"frequency_penalty", p.frequency_penalty, -2, 2}}) {
    DI_TRY(check(range));
  }
  DI_TRY(check_counts(p));
  return check_lists(p);
}

std::string_view finish_reason_name(FinishReason reason) {
  switch (reason) {
    case FinishReason::kNone: return "";
    case FinishReason::kStop: return "stop";
    case FinishReason::kLength: return "length";
    case FinishReason::kAborted: return "abort";
    case FinishReason::kError: return "error";
  }
  return "";
}

namespace engine {

bool SamplingRules::is_end(std::int32_t token) const { return std::ranges::binary_search(end_ids, token); }

Status check_ids(const SamplingParams& params, std::int64_t vocab_size) {
  const auto check_one = [&](std::string_view field, std::int32_t id, std::int64_t least) -> Status {
    return check(WholeRange{field, id, least, vocab_size - 1});
  };
  for (const auto& entry : params.logit_bias) DI_TRY(check_one("a token of logit_bias", entry.first, 0));
  for (const std::int32_t id : params.stop_token_ids) DI_TRY(check_one("an id of stop_token_ids", id, 0));
  for (const std::int32_t id : params.allowed_token_ids) DI_TRY(check_one("an id of allowed_token_ids", id, 0));
  for (const std::int32_t id : params.golden_token_ids) DI_TRY(check_one("an id of golden_token_ids", id, -1));
  return {};
}

}  // namespace engine
}  // namespace deepinfer
