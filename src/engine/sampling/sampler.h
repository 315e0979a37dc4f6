// The sampler of one sequence: rows of logits in, tokens out. Stateless beyond the token history.
//
// A decision is a pure function of (row, rules, history, seed): the same row gives the same token whether it was
// computed with drafts, in a batch or alone. Source: engine.md 12, numerics.md 10.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "deepinfer/status.h"
#include "engine/sampling/history.h"
#include "engine/sampling/random_stream.h"
#include "engine/sampling/rules.h"

namespace deepinfer::engine {

class Sampler {
 public:
  Sampler(SamplingRules rules, std::span<const std::int32_t> prompt, std::uint64_t seed);

  const SamplingRules& rules() const { return rules_; }
  std::uint64_t seed() const { return seed_; }
  TokenHistory& history() { return history_; }
  const TokenHistory& history() const { return history_; }
  /// The forced token of the next position (golden_token_ids), if any.
  std::optional<std::int32_t> forced() const;

  /// The row for the next position after all rules. Errors (of this request): kInternal "nonfinite_logits" for NaN,
  /// +inf or no finite value; kInvalidArgument "grammar_no_token" when the rules leave no id.
  Result<std::vector<float>> process(std::span<const float> logits) const;
  /// The token of the next position from a processed row: forced, greedy or drawn. `seed_offset` is added to the seed.
  std::int32_t choose(std::span<const float> processed, std::uint64_t seed_offset = 0) const;
  /// Random numbers of the next position.
  RandomStream random(RandomCase random_case, std::uint64_t seed_offset = 0) const;

 private:
  SamplingRules rules_;
  TokenHistory history_;
  std::uint64_t seed_;
};

/// Succeeds if a row has no NaN, no +inf and at least one finite value. Errors: kInternal naming position and id.
Status check_row(std::span<const float> logits, std::int64_t position);

}  // namespace deepinfer::engine
