// All routed experts of a rank: two FP4 products, SwiGLU with the routing weight, quantisation, one FP4 product, sum.
//
/// out[t] = sum over e ascending, w[t, e] != 0, of float(y_e):   y_e = bf16(q(a) . w2[e]^T),
/// a = swiglu(bf16(x . w1[e]^T), bf16(x . w3[e]^T), limit, w[t, e]) in bf16,   q = act_quant32 with range max
///
/// codes, scales  [num_tokens, D], [num_tokens, D/32]   u8: the quantised input (quant_act), shared by all experts
/// w              [num_tokens, E]                       f32 (gate_dense); rows with weight exactly 0 are skipped
/// w1, w3         [E, I, D/2]  packed e2m1, their scales [E, I, D/32] ue8m0
/// w2             [E, D, I/2]  packed e2m1, its scale    [E, D, I/32] ue8m0;  D % 32 == 0, I % 32 == 0
/// out            [num_tokens, D]                       f32, not rounded: the shared expert follows
/// Expert matrices may be segmented (one pointer an expert), as a mapped checkpoint holds them.
/// Numerics: class A products, so rows never depend on their companions; fp32 sum from +0 in ascending expert id.
/// Errors: shape, dtype.   Threads: ctx.pool over (expert, 32 intermediate rows), then over 32 output columns.
/// Source: model.md 8, numerics.md 5.1, kernels-neuron.md 3.
/// Original names: fused_moe, m_grouped_fp8_fp4_gemm_nt_shared_a.
#pragma once

#include "graph/emitter.h"
#include "tensor/numeric/range.h"

namespace deepinfer::ops {

struct MoeInput {
  graph::Value codes;
  graph::Value scales;
  graph::Value weights;  ///< dense routing weights
};
struct ExpertMatrix {
  graph::Value w;
  graph::Value scale;
};
struct ExpertMatrices {
  ExpertMatrix w1;
  ExpertMatrix w3;
  ExpertMatrix w2;
};
/// `max` is the activation range of the profile (448 or 224).
graph::Value moe_experts_dense(graph::Emitter& e, const MoeInput& input, const ExpertMatrices& experts, double limit,
                               double max = double{numeric::kE4M3FnMax});

}  // namespace deepinfer::ops
