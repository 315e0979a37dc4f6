// Log-probabilities of one row of logits. Source: numerics.md 10, engine.md 13.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "deepinfer/request.h"

namespace deepinfer::engine {

/// Smallest reported value; stands for -inf.
inline constexpr float kLogprobFloor = -9999.0F;

/// log-softmax of a row: (l - max) - float(ln sum), the sum of exp32(l - max) in double over ascending ids.
class LogSoftmax {
 public:
  /// `row` outlives this object; at least one entry is finite.
  explicit LogSoftmax(std::span<const float> row);
  float at(std::int32_t id) const;
  /// The best `count` ids, value descending, id ascending.
  std::vector<TokenLogprob> top(std::int64_t count) const;
  /// Probability mass of the ids not more likely than `id`, itself included.
  double sum_smaller(std::int32_t id) const;

 private:
  std::span<const float> row_;
  float largest_;
  double sum_;
  float log_sum_;
};

}  // namespace deepinfer::engine
