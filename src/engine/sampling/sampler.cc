#include "engine/sampling/sampler.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "engine/sampling/draw.h"
#include "engine/sampling/processors.h"

namespace deepinfer::engine {

Sampler::Sampler(SamplingRules rules, std::span<const std::int32_t> prompt, std::uint64_t seed)
    : rules_(std::move(rules)), history_(prompt), seed_(seed) {}

std::optional<std::int32_t> Sampler::forced() const {
  const auto& golden = rules_.params.golden_token_ids;
  const std::size_t index = history_.generated().size();
  if (index >= golden.size() || golden[index] < 0) return std::nullopt;
  return golden[index];
}

Status check_row(std::span<const float> logits, std::int64_t position) {
  bool any = false;
  for (std::size_t id = 0; id < logits.size(); ++id) {
    if (std::isnan(logits[id]) || logits[id] == std::numeric_limits<float>::infinity()) {
      return errorf(ErrorCode::kInternal, "nonfinite_logits: position {} has the logit {} at token {}", position,
                    logits[id], id);
    }
    any |= logits[id] != kRemoved;
  }
  if (any) return {};
  return errorf(ErrorCode::kInternal, "nonfinite_logits: position {} has no finite logit", position);
}

Result<std::vector<float>> Sampler::process(std::span<const float> logits) const {
  DI_TRY(check_row(logits, history_.position()));
  std::vector<float> row(logits.begin(), logits.end());
  const RowContext context{rules_, history_};
  for (const Processor& processor : processors()) {
    if (processor.when == Processor::When::kAlways || !rules_.greedy()) processor.apply(context, row);
  }
  if (std::ranges::all_of(row, [](float logit) { return logit == kRemoved; })) {
    return errorf(ErrorCode::kInvalidArgument, "grammar_no_token: no token is allowed at position {}",
                  history_.position());
  }
  return row;
}

RandomStream Sampler::random(RandomCase random_case, std::uint64_t seed_offset) const {
  return {seed_ + seed_offset, history_.position(), random_case};
}

std::int32_t Sampler::choose(std::span<const float> processed, std::uint64_t seed_offset) const {
  if (const auto token = forced()) return *token;
  if (rules_.greedy()) return argmax(processed);
  const RandomStream stream = random(RandomCase::kDraw, seed_offset);
  return rules_.draw == Draw::kGumbel ? draw_gumbel(processed, stream) : draw_cdf(processed, stream.uniform());
}

}  // namespace deepinfer::engine
