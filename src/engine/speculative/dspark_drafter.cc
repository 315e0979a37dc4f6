#include "engine/speculative/dspark_drafter.h"

#include <algorithm>

#include "engine/model_runner.h"

namespace deepinfer::engine {

std::unique_ptr<Drafter> make_drafter(std::string_view name, ModelRunner& runner) {
#define DI_DRAFTER(drafter, type) \
  if (name == #drafter) return std::make_unique<type>(runner);
#include "engine/speculative/drafter_list.inc"
#undef DI_DRAFTER
  return nullptr;
}

namespace {

// One block on its way: `open` until the policy cuts it, it is full, or a row cannot be sampled.
struct Block {
  const DraftRequest& request;
  Proposal proposal;
  std::int32_t previous;
  bool open;

  explicit Block(const DraftRequest& r) : request(r), previous(r.anchor), open(r.count > 0) {}

  void extend(std::span<const float> logits, float confidence) {
    const std::size_t k = proposal.tokens.size();
    open = request.policy->keeps(k, confidence);
    if (!open) return;
    Sampler& sampler = *request.sampler;
    const auto row = sampler.process(logits);
    open = row.has_value();
    if (!open) return;
    const bool rejection = sampler.rules().spec_accept == SpecAccept::kRejection && !sampler.rules().greedy();
    previous = sampler.choose(*row, rejection ? kDraftSeedOffset : 0);
    proposal.tokens.push_back(previous);
    proposal.confidence.push_back(confidence);
    if (rejection) proposal.log_probs.push_back(log_prob_row(*row));
    sampler.history().push(previous);
    open = static_cast<std::int64_t>(proposal.tokens.size()) < request.count;
  }
  void rewind() {
    for (std::size_t i = 0; i < proposal.tokens.size(); ++i) request.sampler->history().pop();
  }
};

}  // namespace

std::vector<Proposal> DsparkDrafter::draft(std::span<const DraftRequest> requests) {
  std::vector<Block> blocks(requests.begin(), requests.end());
  const auto any_open = [&] { return std::ranges::any_of(blocks, &Block::open); };
  std::vector<Proposal> out;
  if (any_open()) {
    std::vector<const Sequence*> sequences;
    std::vector<std::int32_t> previous;
    for (const DraftRequest& request : requests) {
      sequences.push_back(request.sequence);
      previous.push_back(request.anchor);
    }
    const ModelRunner::DraftRows rows = runner_.draft(sequences, previous);
    const std::int64_t block_size = runner_.model().config().dspark_block_size;
    for (std::int64_t k = 0; k < block_size && any_open(); ++k) {
      const ModelRunner::MarkovRows step = runner_.markov(rows, k, previous);
      const auto vocab = static_cast<std::size_t>(step.logits.shape()[1]);
      for (std::size_t r = 0; r < blocks.size(); ++r) {
        if (!blocks[r].open) continue;
        blocks[r].extend(step.logits.span<float>().subspan(r * vocab, vocab), step.confidence.span<float>()[r]);
        previous[r] = blocks[r].previous;
      }
    }
  }
  for (Block& block : blocks) {
    block.rewind();
    out.push_back(std::move(block.proposal));
  }
  return out;
}

}  // namespace deepinfer::engine
