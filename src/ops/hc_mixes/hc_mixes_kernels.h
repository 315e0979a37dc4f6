// The two implementations behind hc_mixes's OpDef, and the projections that the coefficients start from.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
/// m[num_tokens, (2+S)*S] = (fn . x) * r of hc_mixes.h, in its bits. Types as there; uses ctx.scratch.
void hc_projections(const ConstTensorRef& streams, const ConstTensorRef& fn, double norm_eps,
                    const graph::KernelContext& ctx, float* m);

void hc_mixes_host(const graph::OpCall& call);
void hc_mixes_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
