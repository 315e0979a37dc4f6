#include <algorithm>

#include "ops/gate_dense/gate_dense_kernels.h"

namespace deepinfer::ops {

void gate_dense_host(const graph::OpCall& call) {
  const std::int64_t k = call.in[0].type.shape[1];
  const std::int64_t local = call.out[0].type.shape[1];
  const std::int64_t first = call.attrs.integer("first_expert");
  const auto* ids = call.in[0].as<std::int32_t>();
  const float* weights = call.in[1].as<float>();
  float* out = call.out[0].as<float>();
  call.ctx.pool->parallel_for(call.out[0].type.shape[0], 16, [&](std::int64_t begin, std::int64_t end) {
    std::fill(out + begin * local, out + end * local, 0.0F);
    for (std::int64_t i = begin * k; i < end * k; ++i) {
      const std::int64_t e = ids[i] - first;
      if (e >= 0 && e < local) out[i / k * local + e] += weights[i];
    }
  });
}

}  // namespace deepinfer::ops
