// Judging drafts: one row of the target after the other, in both acceptance modes.
//
// coupled: the row is processed and drawn as without drafts; a draft is accepted iff it equals the drawn token.
// rejection: accept with probability min(1, p / q), else draw from max(p - q, 0). With greedy sampling both are the
// same. Independent of where proposals come from. Source: speculative.md 2, engine.md 17.3.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deepinfer/status.h"
#include "engine/sampling/sampler.h"

namespace deepinfer::engine {

/// The kept ids of a processed row with their log-probabilities; ids ascending.
struct LogProbRow {
  std::vector<std::int32_t> ids;
  std::vector<float> values;

  float at(std::int32_t id) const;  ///< -inf for an id that is not kept
};
LogProbRow log_prob_row(std::span<const float> processed);
/// q of a drafter that proposes without drawing: all mass on one id.
LogProbRow one_hot(std::int32_t id);

/// What a drafter proposes for one sequence.
struct Proposal {
  std::vector<std::int32_t> tokens;
  std::vector<float> confidence;      ///< raw logit a token
  std::vector<LogProbRow> log_probs;  ///< q a token, for rejection; empty = not drawn (one-hot)
};

/// u < e^min(lp_p - lp_q, 0); false where either is -inf.
bool accepts_draft(const LogProbRow& p, const LogProbRow& q, std::int32_t draft, double u);
/// Draw from the normalised max(p - q, 0) by running sums in ascending id; from p when that mass is at most 1e-8.
std::int32_t residual_token(const LogProbRow& p, const LogProbRow& q, double u);

struct RowDecision {
  std::int32_t token = -1;
  enum class Draft : std::uint8_t { kNone, kAccepted, kRejected } draft = Draft::kNone;
  std::vector<float> processed;  ///< the row after all rules
};
/// Decides row `row` of a verified chunk: it judges draft `row`, or draws the token after the last one. The sampler's
/// history ends with the token before. Errors: those of Sampler::process.
Result<RowDecision> decide_row(const Sampler& sampler, std::span<const float> logits, const Proposal& proposal,
                               std::size_t row);

}  // namespace deepinfer::engine
