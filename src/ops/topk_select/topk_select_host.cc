#include "ops/topk_select/topk_select_kernels.h"

namespace deepinfer::ops {
namespace {

template <typename Key>
void select_tokens(const graph::OpCall& call, const Key& key) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t k = call.attrs.integer("k");
  call.ctx.pool->parallel_for(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t visible = call.in[1].as<std::int32_t>()[t];
      DI_CHECK(visible >= 0 && visible <= shape[1], "{} visible rows of {}", visible, shape[1]);
      call.out[1].as<std::int32_t>()[t] = static_cast<std::int32_t>(
          select_best(visible, k, [&, row = t * shape[1]](std::int64_t j) { return key(row + j); },
                      call.out[0].as<std::int32_t>() + t * k));
    }
  });
}

}  // namespace

void topk_select_host(const graph::OpCall& call) {
  if (call.in[0].type.dtype == DType::kF32) {
    const float* scores = call.in[0].as<float>();
    return select_tokens(call, [scores](std::int64_t i) { return score_key(scores[i], kMaskedF32); });
  }
  const BF16* scores = call.in[0].as<BF16>();
  select_tokens(call, [scores](std::int64_t i) { return score_key(to_float(scores[i]), kMaskedBF16); });
}

}  // namespace deepinfer::ops
