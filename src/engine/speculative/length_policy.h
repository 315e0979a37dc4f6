// How many drafts of a step are verified. Source: speculative.md 5 (single-stream rule).
//
// A draft may be cut because of the confidences of drafts up to it, never because of later ones or of the target's
// results of this step: with rejection acceptance the output distribution would change otherwise.
#pragma once

#include <cstddef>
#include <vector>

#include "deepinfer/config.h"

namespace deepinfer::engine {

struct LengthPolicy {
  SpecLength rule = SpecLength::kThreshold;
  double threshold = 0.5;
  std::vector<double> temperature{1.0};  ///< by draft position; the last value serves all later ones

  /// Predicted acceptance of draft k: sigma(confidence / T_k), the argument clamped to +-60.
  double acceptance(std::size_t k, float confidence) const;
  /// Whether draft k is verified, given that all before it are.
  bool keeps(std::size_t k, float confidence) const;
};

}  // namespace deepinfer::engine
