// One request: how to sample, and what comes back for every token.
//
// Source: original-engine.md 1.3 and 1.4, engine.md 3.2, 12 and 13.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/status.h"

namespace deepinfer {

/// Where the text of a stop string ends up.
enum class StopText : std::uint8_t {
  kExclude,  ///< the text ends before it
  kInclude,  ///< the text ends after it
};

/// Whether end tokens end a sequence.
enum class EndTokens : std::uint8_t { kStop, kIgnore };

/// Whether log-probabilities of the prompt are wanted; they need every prompt row.
enum class PromptLogprobs : std::uint8_t { kOff, kOn };

struct SamplingParams {
  double temperature = 1.0;         ///< 0 … 2; below 1e-5 = greedy: the largest logit, lowest id on ties
  double top_p = 1.0;               ///< (0, 1]; 1 = off
  std::int64_t top_k = -1;          ///< -1 or 0 = off, else 1 … 2^31 - 1
  double min_p = 0.0;               ///< [0, 1]; 0 = off
  double repetition_penalty = 1.0;  ///< (0, 10], over prompt and completion; 1 = off
  double presence_penalty = 0.0;    ///< -2 … 2, over the completion
  double frequency_penalty = 0.0;   ///< -2 … 2, over the completion
  std::vector<std::pair<std::int32_t, double>> logit_bias;  ///< at most 1,024 entries of -100 … 100

  std::int64_t max_tokens = 16;           ///< 1 … 393,216 (0 is allowed with prompt_logprobs: nothing is generated)
  std::int64_t min_tokens = 0;            ///< end tokens are banned before; 0 … max_tokens
  std::int64_t first_n_token_no_eos = 0;  ///< 1 bans end tokens for the first token; other values do nothing
  EndTokens end_tokens = EndTokens::kStop;
  std::vector<std::int32_t> stop_token_ids;  ///< end the sequence like the end-of-sentence token
  std::vector<std::string> stop;             ///< at most 64 strings of 1 … 1,024 bytes
  StopText stop_text = StopText::kExclude;

  std::vector<std::string> bad_words;           ///< never completed; each tokenised with and without a blank before it
  std::vector<std::int32_t> allowed_token_ids;  ///< empty = all

  std::optional<std::int64_t> logprobs;  ///< log-probability of the token and of the best 0 … 1,000
  PromptLogprobs prompt_logprobs = PromptLogprobs::kOff;

  std::optional<std::uint64_t> seed;           ///< none = drawn from the system for this request, and reported
  std::int64_t num_choices = 1;                ///< 1 … 16 completions of one prompt (`n`)
  std::vector<std::int32_t> golden_token_ids;  ///< forced tokens by index, -1 = free

  // Overrides of the engine's defaults.
  std::optional<std::int64_t> num_drafts;  ///< at most the engine's
  std::optional<SpecLength> spec_length;
  std::optional<Draw> draw;
  std::optional<SpecAccept> spec_accept;
  std::optional<LogprobMode> logprob_mode;
};

/// Checks every field that does not depend on a model. Errors: kInvalidArgument naming field, value and range.
Status validate(const SamplingParams& params);

enum class FinishReason : std::uint8_t {
  kNone,     ///< not finished
  kStop,     ///< end token, stop token or stop string
  kLength,   ///< max_tokens or the context is used up
  kAborted,  ///< abort_request
  kError,    ///< RequestOutput::error says why
};
/// "stop", "length", "abort", "error"; "" for kNone.
std::string_view finish_reason_name(FinishReason reason);

struct TokenLogprob {
  std::int32_t token_id = 0;
  float logprob = 0;  ///< natural logarithm, at least -9999
};

struct Usage {
  std::int64_t prompt_tokens = 0;
  std::int64_t completion_tokens = 0;
  std::int64_t cached_tokens = 0;
};

/// Seconds since the request was added, and what drafts did.
struct Timings {
  double queue_s = 0;            ///< waiting for a place
  double prefill_s = 0;          ///< from then to the first token
  double decode_s = 0;           ///< from the first token to the last
  double tokens_per_s = 0;       ///< completion tokens after the first / decode_s
  double mean_accepted_len = 0;  ///< tokens a decode step emitted; 1 without drafts, 0 before the first step
  std::int64_t decode_steps = 0;
  std::int64_t drafts_verified = 0;
  std::int64_t drafts_accepted = 0;  ///< of emitted tokens
};

/// One emitted token; also sent without a token (token_id -1) when a request ends without one.
struct RequestOutput {
  std::string request_id;
  std::int64_t choice = 0;
  std::int64_t index = -1;  ///< of the token in the completion
  std::int32_t token_id = -1;
  std::string text;                         ///< text that became certain; the end token that stops a sequence has none
  std::optional<float> logprob;             ///< if asked for
  std::vector<TokenLogprob> top_logprobs;   ///< value descending, id ascending; holds the token itself as well
  std::optional<double> sum_smaller_probs;  ///< after all rules, the token included (EngineArgs::sum_smaller_probs)
  /// With the first output of choice 0, if asked for: entry i is that of prompt token i + 1.
  std::vector<float> prompt_logprobs;
  std::uint64_t seed = 0;  ///< the seed in use

  bool finished = false;  ///< this choice's last output
  FinishReason finish_reason = FinishReason::kNone;
  std::string stop_reason;     ///< the stop string, or the id of a stop token in decimal; else empty
  std::optional<Error> error;  ///< with kError
  Usage usage;
  Timings timings;  ///< complete with the last output
};

}  // namespace deepinfer
