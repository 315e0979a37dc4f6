#include "engine/sampling/draw.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tensor/numeric/exp32.h"

namespace deepinfer::engine {

std::int32_t argmax(std::span<const float> row) {
  return static_cast<std::int32_t>(std::max_element(row.begin(), row.end()) - row.begin());
}

namespace {

// The best id so far with its noisy score.
class Race {
 public:
  Race(std::span<const float> row, const RandomStream& random) : row_(row), random_(random) {
    best_id_ = argmax(row);
    best_ = score(best_id_);
  }

  // Two ids share one Philox block.
  void run_pair(std::size_t first) {
    const std::size_t end = std::min(first + 2, row_.size());
    bool possible = false;
    for (std::size_t id = first; id < end; ++id) possible |= static_cast<double>(row_[id]) + kMaxNoise > best_;
    if (!possible) return;
    const auto bits = random_.bits(static_cast<std::uint32_t>(first >> 1));
    for (std::size_t id = first; id < end; ++id) enter(static_cast<std::int32_t>(id), bits[id - first]);
  }
  std::int32_t best_id() const { return best_id_; }

 private:
  static constexpr double kMaxNoise = 37.5;  // 54 ln 2 = 37.43

  double score(std::int32_t id) const {
    const auto bits = random_.bits(static_cast<std::uint32_t>(id) >> 1);
    return static_cast<double>(row_[static_cast<std::size_t>(id)]) +
           gumbel_noise(bits[static_cast<std::size_t>(id & 1)]);
  }

  void enter(std::int32_t id, std::uint64_t bits) {
    const double z = static_cast<double>(row_[static_cast<std::size_t>(id)]);
    if (z + kMaxNoise < best_) return;
    // -ln u >= 1 - u, so the score can reach `best_` only if 1 - u <= e^(z - best); 1e-4 covers every rounding.
    const auto gap = static_cast<float>(std::min(z - best_, 80.0));
    const double rest = (static_cast<double>(std::uint64_t{1} << 53) - static_cast<double>(bits) - 0.5) * 0x1p-53;
    if (rest > static_cast<double>(numeric::exp32(gap)) * (1 + 1e-4)) return;
    const double value = z + gumbel_noise(bits);
    if (value > best_ || (value == best_ && id < best_id_)) {
      best_ = value;
      best_id_ = id;
    }
  }

  std::span<const float> row_;
  const RandomStream& random_;
  double best_ = 0;
  std::int32_t best_id_ = 0;
};

}  // namespace

std::int32_t draw_gumbel(std::span<const float> row, const RandomStream& random) {
  Race race(row, random);
  for (std::size_t first = 0; first < row.size(); first += 2) race.run_pair(first);
  return race.best_id();
}

std::int32_t draw_cdf(std::span<const float> row, double u) {
  const float largest = row[static_cast<std::size_t>(argmax(row))];
  double total = 0;
  for (const float value : row) total += static_cast<double>(numeric::exp32(value - largest));
  double sum = 0;
  for (std::size_t id = 0; id < row.size(); ++id) {
    sum += static_cast<double>(numeric::exp32(row[id] - largest));
    if (sum > u * total) return static_cast<std::int32_t>(id);
  }
  return argmax(row);  // not reached: u < 1
}

}  // namespace deepinfer::engine
