#include "engine/sampling/logprobs.h"

#include <algorithm>

#include "engine/sampling/natural_log.h"
#include "tensor/numeric/exp32.h"

namespace deepinfer::engine {

LogSoftmax::LogSoftmax(std::span<const float> row) : row_(row), largest_(*std::ranges::max_element(row)), sum_(0) {
  for (const float value : row) sum_ += static_cast<double>(numeric::exp32(value - largest_));
  log_sum_ = static_cast<float>(natural_log(sum_));
}

float LogSoftmax::at(std::int32_t id) const {
  const float value = (row_[static_cast<std::size_t>(id)] - largest_) - log_sum_;
  return std::max(value, kLogprobFloor);
}

std::vector<TokenLogprob> LogSoftmax::top(std::int64_t count) const {
  std::vector<TokenLogprob> all(row_.size());
  for (std::size_t id = 0; id < all.size(); ++id) {
    const auto token = static_cast<std::int32_t>(id);
    all[id] = {token, at(token)};
  }
  const auto kept = std::min<std::ptrdiff_t>(count, std::ssize(all));
  std::ranges::partial_sort(all, all.begin() + kept, [](const TokenLogprob& a, const TokenLogprob& b) {
    return a.logprob != b.logprob ? a.logprob > b.logprob : a.token_id < b.token_id;
  });
  all.resize(static_cast<std::size_t>(kept));
  return all;
}

double LogSoftmax::sum_smaller(std::int32_t id) const {
  const float limit = row_[static_cast<std::size_t>(id)];
  double sum = 0;
  for (const float value : row_) {
    if (value <= limit) sum += static_cast<double>(numeric::exp32(value - largest_));
  }
  return sum / sum_;
}

}  // namespace deepinfer::engine
