// The two implementations behind swiglu's OpDef, and the row function that the expert kernels share.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {

void swiglu_host(const graph::OpCall& call);
void swiglu_reference(const graph::OpCall& call);

/// out[n] of one row with the bits of the op; `weight` may be null, limit <= 0 means no clamp.
void swiglu_row(const isa::Kernels& isa, std::span<const BF16> gate, std::span<const BF16> up, float limit,
                const float* weight, BF16* out);

}  // namespace deepinfer::ops
