#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/candidate_blocks/candidate_blocks_kernels.h"

namespace deepinfer::ops {
namespace {

/// Block maxima of one token's visible scores; NaN and masked scores are -infinity, the newest block is +infinity.
std::vector<double> block_scores(const std::vector<double>& scores, double masked, std::int64_t block) {
  std::vector<double> out;
  for (std::size_t j = 0; j < scores.size(); ++j) {
    if (j % static_cast<std::size_t>(block) == 0) out.push_back(-HUGE_VAL);
    if (scores[j] > masked) out.back() = std::max(out.back(), scores[j]);
  }
  if (!out.empty()) out.back() = HUGE_VAL;
  return out;
}

}  // namespace

void candidate_blocks_reference(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t kept = call.out[0].type.shape[1];
  const bool narrow = call.in[0].type.dtype == DType::kBF16;
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    std::vector<double> scores;
    for (std::int64_t j = 0; j < call.in[1].as<std::int32_t>()[t]; ++j) {
      const std::int64_t at = t * shape[1] + j;
      scores.push_back(double{narrow ? to_float(call.in[0].as<BF16>()[at]) : call.in[0].as<float>()[at]});
    }
    const std::vector<double> best =
        block_scores(scores, double{narrow ? round_bf16(-1e30F) : -1e30F}, call.attrs.integer("block"));
    std::vector<std::int32_t> ids;
    for (std::size_t b = 0; b < best.size(); ++b) {
      if (best[b] > -HUGE_VAL) ids.push_back(static_cast<std::int32_t>(b));
    }
    const auto by_score = [&](std::int32_t a, std::int32_t b) {
      const bool newest = static_cast<std::size_t>(a) + 1 == best.size();
      return newest != (static_cast<std::size_t>(b) + 1 == best.size())
                 ? newest
                 : best[static_cast<std::size_t>(a)] > best[static_cast<std::size_t>(b)];
    };
    std::stable_sort(ids.begin(), ids.end(), by_score);
    ids.resize(std::min(ids.size(), static_cast<std::size_t>(kept)));
    std::sort(ids.begin(), ids.end());
    call.out[1].as<std::int32_t>()[t] = static_cast<std::int32_t>(ids.size());
    ids.resize(static_cast<std::size_t>(kept), 0);
    std::copy(ids.begin(), ids.end(), call.out[0].as<std::int32_t>() + t * kept);
  }
}

}  // namespace deepinfer::ops
