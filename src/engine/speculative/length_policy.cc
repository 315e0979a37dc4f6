#include "engine/speculative/length_policy.h"

#include <algorithm>
#include <cmath>

namespace deepinfer::engine {

double LengthPolicy::acceptance(std::size_t k, float confidence) const {
  const double scaled = static_cast<double>(confidence) / temperature[std::min(k, temperature.size() - 1)];
  return 1 / (1 + std::exp(-std::clamp(scaled, -60.0, 60.0)));
}

bool LengthPolicy::keeps(std::size_t k, float confidence) const {
  return rule == SpecLength::kFixed || acceptance(k, confidence) >= threshold;
}

}  // namespace deepinfer::engine
