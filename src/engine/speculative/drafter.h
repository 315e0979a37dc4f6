// Where drafts come from. The verifier takes any proposal, so a drafter can change speed but not results.
// Source: speculative.md 8.
#pragma once

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "engine/sampling/sampler.h"
#include "engine/sequence.h"
#include "engine/speculative/length_policy.h"
#include "engine/speculative/verifier.h"

namespace deepinfer::engine {

class ModelRunner;

struct DraftRequest {
  const Sequence* sequence = nullptr;  ///< committed rows: positions below `length`
  std::int32_t anchor = 0;             ///< the last sampled token, at position `length`
  Sampler* sampler = nullptr;          ///< its history ends with the anchor; unchanged on return
  std::int64_t count = 0;              ///< at most that many drafts
  const LengthPolicy* policy = nullptr;
};

class Drafter {
 public:
  virtual ~Drafter() = default;
  /// One proposal a request, in order; each may be empty.
  virtual std::vector<Proposal> draft(std::span<const DraftRequest> requests) = 0;
};

/// Makes the drafter of a name of drafter_list.inc; nullptr for other names.
std::unique_ptr<Drafter> make_drafter(std::string_view name, ModelRunner& runner);

}  // namespace deepinfer::engine
