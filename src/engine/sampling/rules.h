// The sampling rules of one request after defaults, the model's end tokens and the tokenizer are known.
#pragma once

#include <cstdint>
#include <vector>

#include "deepinfer/request.h"
#include "engine/sampling/history.h"

namespace deepinfer::engine {

/// Below it sampling is greedy.
inline constexpr double kGreedyTemperature = 1e-5;

struct SamplingRules {
  SamplingParams params;
  Draw draw = Draw::kGumbel;
  SpecAccept spec_accept = SpecAccept::kCoupled;
  LogprobMode logprob_mode = LogprobMode::kRaw;
  std::vector<std::int32_t> banned;                  ///< ids that no request may sample, ascending
  std::vector<std::int32_t> end_ids;                 ///< ids that end the sequence, ascending
  std::vector<std::vector<std::int32_t>> bad_words;  ///< as token sequences of at least one id
  std::vector<std::int32_t> allowed;                 ///< ascending; empty = all

  bool greedy() const { return params.temperature < kGreedyTemperature; }
  bool is_end(std::int32_t token) const;
};

/// What a processor sees beside the row.
struct RowContext {
  const SamplingRules& rules;
  const TokenHistory& history;
};

/// Succeeds if all ids of `params` are inside the vocabulary. Errors: kInvalidArgument naming field and id.
Status check_ids(const SamplingParams& params, std::int64_t vocab_size);

}  // namespace deepinfer::engine
