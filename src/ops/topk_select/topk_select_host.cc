#include "ops/topk_select/topk_select_kernels.h"

namespace deepinfer::ops {
namespace {

/// Keys = F32Keys or BF16Keys over T scores.
template <typename Keys, typename T>
void select_tokens(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const T* scores = call.in[0].as<T>();
  const std::int64_t k = call.attrs.integer("k");
  call.ctx.pool->parallel_for(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t visible = call.in[1].as<std::int32_t>()[t];
      DI_CHECK(visible >= 0 && visible <= shape[1], "{} visible rows of {}", visible, shape[1]);
      call.out[1].as<std::int32_t>()[t] = static_cast<std::int32_t>(
          select_best(visible, k, Keys{scores + t * shape[1]}, call.out[0].as<std::int32_t>() + t * k));
    }
  });
}

}  // namespace

void topk_select_host(const graph::OpCall& call) {
  call.in[0].type.dtype == DType::kF32 ? select_tokens<F32Keys, float>(call) : select_tokens<BF16Keys, BF16>(call);
}

}  // namespace deepinfer::ops
