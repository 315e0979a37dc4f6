#include <algorithm>

#include "ops/candidate_blocks/candidate_blocks_kernels.h"
#include "ops/topk_select/topk_select_kernels.h"

namespace deepinfer::ops {
namespace {

/// Key of each block of the first `visible` rows: its best row; the newest block is above the key of +inf.
template <typename Keys>
std::int64_t block_keys(const Keys& rows, std::int64_t visible, std::int64_t block, std::uint32_t* out) {
  const std::int64_t seen = (visible + block - 1) / block;
  for (std::int64_t b = 0; b < seen; ++b) {
    out[b] = 0;
    for (std::int64_t j = b * block; j < std::min((b + 1) * block, visible); ++j) out[b] = std::max(out[b], rows(j));
  }
  if (seen > 0) out[seen - 1] = ~0U >> (32 - Keys::kBits);
  return seen;
}

/// Keys = F32Keys or BF16Keys over T scores.
template <typename Keys, typename T>
void select_blocks(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const T* scores = call.in[0].as<T>();
  const std::int64_t block = call.attrs.integer("block");
  const std::int64_t kept = call.out[0].type.shape[1];
  const std::int64_t num_blocks = (shape[1] + block - 1) / block;
  std::uint32_t* keys = call.ctx.scratch->take<std::uint32_t>(shape[0] * num_blocks);
  call.ctx.pool->parallel_for(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) {
      const std::int64_t visible = call.in[1].as<std::int32_t>()[t];
      DI_CHECK(visible >= 0 && visible <= shape[1], "{} visible rows of {}", visible, shape[1]);
      std::uint32_t* row = keys + t * num_blocks;
      const std::int64_t seen = block_keys(Keys{scores + t * shape[1]}, visible, block, row);
      call.out[1].as<std::int32_t>()[t] = static_cast<std::int32_t>(
          select_best(seen, kept, StoredKeys<Keys::kBits>{row}, call.out[0].as<std::int32_t>() + t * kept));
    }
  });
}

}  // namespace

void candidate_blocks_host(const graph::OpCall& call) {
  call.in[0].type.dtype == DType::kF32 ? select_blocks<F32Keys, float>(call) : select_blocks<BF16Keys, BF16>(call);
}

}  // namespace deepinfer::ops
