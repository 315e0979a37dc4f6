#include <algorithm>

#include "ops/candidate_blocks/candidate_blocks_kernels.h"
#include "ops/topk_select/topk_select_kernels.h"

namespace deepinfer::ops {
namespace {

constexpr std::uint32_t kForced = ~0U;  // above the key of +inf

template <typename Key>
void select_blocks(const graph::OpCall& call, const Key& row_key) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t block = call.attrs.integer("block");
  const std::int64_t kept = call.out[0].type.shape[1];
  const std::int64_t num_blocks = (shape[1] + block - 1) / block;
  std::uint32_t* keys = call.ctx.scratch->take<std::uint32_t>(shape[0] * num_blocks);
  call.ctx.pool->parallel_for(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t visible = call.in[1].as<std::int32_t>()[t];
      DI_CHECK(visible >= 0 && visible <= shape[1], "{} visible rows of {}", visible, shape[1]);
      const std::int64_t seen = (visible + block - 1) / block;
      std::uint32_t* block_keys = keys + t * num_blocks;
      std::fill_n(block_keys, seen, 0U);
      for (std::int64_t b = 0; b < seen; ++b) {
        for (std::int64_t j = b * block; j < std::min((b + 1) * block, visible); ++j) {
          block_keys[b] = std::max(block_keys[b], row_key(t * shape[1] + j));
        }
      }
      if (seen > 0) block_keys[seen - 1] = kForced;
      call.out[1].as<std::int32_t>()[t] = static_cast<std::int32_t>(
          select_best(seen, kept, [block_keys](std::int64_t b) { return block_keys[b]; },
                      call.out[0].as<std::int32_t>() + t * kept));
    }
  });
}

}  // namespace

void candidate_blocks_host(const graph::OpCall& call) {
  if (call.in[0].type.dtype == DType::kF32) {
    const float* scores = call.in[0].as<float>();
    return select_blocks(call, [scores](std::int64_t i) { return score_key(scores[i], kMaskedF32); });
  }
  const BF16* scores = call.in[0].as<BF16>();
  select_blocks(call, [scores](std::int64_t i) { return score_key(to_float(scores[i]), kMaskedBF16); });
}

}  // namespace deepinfer::ops
