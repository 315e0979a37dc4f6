#include "ops/gate_scores/gate_scores_kernels.h"
#include "ops/linear_bf16/dense_rows.h"
#include "tensor/numeric/transcendental.h"

namespace deepinfer::ops {

void gate_scores_host(const graph::OpCall& call) {
  const std::int64_t num_experts = call.out[0].type.shape[1];
  const auto temp = static_cast<float>(call.attrs.real("temp"));
  auto* out = call.out[0].as<float>();
  dense_rows(call.ctx, call.in[0], call.in[1],
             [=](std::int64_t t, std::int64_t first, std::int64_t count, const float* sums) {
               for (std::int64_t i = 0; i < count; ++i) {
                 out[t * num_experts + first + i] = numeric::sqrt_f64(numeric::softplus_f64(sums[i] / temp));
               }
             });
}

}  // namespace deepinfer::ops
