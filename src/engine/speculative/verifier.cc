#include "engine/speculative/verifier.h"

#include <algorithm>

#include "base/error.h"
#include "engine/sampling/natural_log.h"
#include "engine/sampling/processors.h"
#include "tensor/numeric/exp32.h"

namespace deepinfer::engine {

float LogProbRow::at(std::int32_t id) const {
  const auto it = std::ranges::lower_bound(ids, id);
  if (it == ids.end() || *it != id) return kRemoved;
  return values[static_cast<std::size_t>(it - ids.begin())];
}

LogProbRow log_prob_row(std::span<const float> processed) {
  const float largest = *std::ranges::max_element(processed);
  double sum = 0;
  for (const float logit : processed) sum += static_cast<double>(numeric::exp32(logit - largest));
  const auto log_sum = static_cast<float>(natural_log(sum));
  LogProbRow out;
  for (std::size_t id = 0; id < processed.size(); ++id) {
    if (processed[id] == kRemoved) continue;
    out.ids.push_back(static_cast<std::int32_t>(id));
    out.values.push_back((processed[id] - largest) - log_sum);
  }
  return out;
}

LogProbRow one_hot(std::int32_t id) { return {{id}, {0.0F}}; }

bool accepts_draft(const LogProbRow& p, const LogProbRow& q, std::int32_t draft, double u) {
  const float lp = p.at(draft);
  const float lq = q.at(draft);
  if (lp == kRemoved || lq == kRemoved) return false;
  return u < static_cast<double>(numeric::exp32(std::min(lp - lq, 0.0F)));
}

std::int32_t residual_token(const LogProbRow& p, const LogProbRow& q, double u) {
  constexpr double kNothing = 1e-8;
  std::vector<double> mass(p.ids.size());
  double total = 0;
  const auto fill = [&](auto&& weight) {
    total = 0;
    for (std::size_t i = 0; i < mass.size(); ++i) total += mass[i] = weight(i);
  };
  const auto probability = [&](std::size_t i) { return static_cast<double>(numeric::exp32(p.values[i])); };
  fill([&](std::size_t i) {
    return std::max(probability(i) - static_cast<double>(numeric::exp32(q.at(p.ids[i]))), 0.0);
  });
  if (total <= kNothing) fill(probability);
  double sum = 0;
  for (std::size_t i = 0; i < mass.size(); ++i) {
    sum += mass[i];
    if (sum > u * total) return p.ids[i];
  }
  return p.ids.back();  // not reached: u < 1
}

namespace {

std::int32_t decide_by_rejection(const Sampler& sampler, std::span<const float> processed, const Proposal& proposal,
                                 std::size_t row) {
  const LogProbRow p = log_prob_row(processed);
  const std::int32_t draft = proposal.tokens[row];
  const LogProbRow q = proposal.log_probs.empty() ? one_hot(draft) : proposal.log_probs[row];
  if (accepts_draft(p, q, draft, sampler.random(RandomCase::kAccept).uniform())) return draft;
  return residual_token(p, q, sampler.random(RandomCase::kResidual).uniform());
}

}  // namespace

Result<RowDecision> decide_row(const Sampler& sampler, std::span<const float> logits, const Proposal& proposal,
                               std::size_t row) {
  RowDecision out;
  DI_ASSIGN(out.processed, sampler.process(logits));
  const bool judges = row < proposal.tokens.size();
  const bool by_rejection =
      judges && sampler.rules().spec_accept == SpecAccept::kRejection && !sampler.rules().greedy() && !sampler.forced();
  out.token = by_rejection ? decide_by_rejection(sampler, out.processed, proposal, row) : sampler.choose(out.processed);
  if (judges) {
    // In rejection mode the residual never holds a rejected draft unless p and q agree to 1e-8.
    out.draft = out.token == proposal.tokens[row] ? RowDecision::Draft::kAccepted : RowDecision::Draft::kRejected;
  }
  return out;
}

}  // namespace deepinfer::engine
