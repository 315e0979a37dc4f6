// Positions that a query's sliding window covers. Source: numerics.md 7.
#pragma once

#include <algorithm>
#include <cstdint>

namespace deepinfer::engine {

struct WindowRange {
  std::int64_t begin;  ///< oldest position
  std::int64_t end;    ///< one past the query's own position

  std::int64_t count() const { return end - begin; }
};

/// The last `window` positions up to `position`, none before `floor`.
constexpr WindowRange window_range(std::int64_t position, std::int64_t window, std::int64_t floor = 0) {
  return {std::max({std::int64_t{0}, floor, position - window + 1}), position + 1};
}

}  // namespace deepinfer::engine
