#include "ops/stream_mean/stream_mean_kernels.h"

namespace deepinfer::ops {

void stream_mean_host(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t streams = shape[1];
  const std::int64_t hidden = shape[2];
  const BF16* x = call.in[0].as<BF16>();
  BF16* out = call.out[0].as<BF16>();
  call.ctx.pool->parallel_for(shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * hidden; i < end * hidden; ++i) {
      const BF16* column = x + i / hidden * streams * hidden + i % hidden;
      float sum = to_float(column[0]);
      for (std::int64_t j = 1; j < streams; ++j) sum += to_float(column[j * hidden]);
      out[i] = to_bf16(sum / static_cast<float>(streams));
    }
  });
}

}  // namespace deepinfer::ops
