// The draft model of the checkpoint: one parallel pass over a block, then one Markov correction a draft.
//
// Drafts are drawn under the rules of their own positions: coupled acceptance uses the target's random numbers,
// rejection its own (seed + 1,000,000,007). Source: speculative.md 1.
#pragma once

#include "engine/speculative/drafter.h"

namespace deepinfer::engine {

class NoDrafter final : public Drafter {
 public:
  explicit NoDrafter(ModelRunner&) {}
  std::vector<Proposal> draft(std::span<const DraftRequest> requests) override {
    return std::vector<Proposal>(requests.size());
  }
};

class DsparkDrafter final : public Drafter {
 public:
  /// `runner` outlives the drafter.
  explicit DsparkDrafter(ModelRunner& runner) : runner_(runner) {}
  std::vector<Proposal> draft(std::span<const DraftRequest> requests) override;

 private:
  ModelRunner& runner_;
};

}  // namespace deepinfer::engine
