#include <algorithm>
#include <vector>

#include "ops/topk_select/topk_select_kernels.h"

namespace deepinfer::ops {

void topk_select_reference(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t k = call.attrs.integer("k");
  const bool narrow = call.in[0].type.dtype == DType::kBF16;
  const float masked = narrow ? round_bf16(-1e30F) : -1e30F;
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    const auto score = [&](std::int32_t j) {
      const std::int64_t at = t * shape[1] + j;
      return narrow ? to_float(call.in[0].as<BF16>()[at]) : call.in[0].as<float>()[at];
    };
    std::vector<std::int32_t> rows;
    for (std::int32_t j = 0; j < call.in[1].as<std::int32_t>()[t]; ++j) {
      if (score(j) > masked) rows.push_back(j);
    }
    std::stable_sort(rows.begin(), rows.end(), [&](std::int32_t a, std::int32_t b) { return score(a) > score(b); });
    rows.resize(std::min(rows.size(), static_cast<std::size_t>(k)));
    std::sort(rows.begin(), rows.end());
    call.out[1].as<std::int32_t>()[t] = static_cast<std::int32_t>(rows.size());
    rows.resize(static_cast<std::size_t>(k), 0);
    std::copy(rows.begin(), rows.end(), call.out[0].as<std::int32_t>() + t * k);
  }
}

}  // namespace deepinfer::ops
