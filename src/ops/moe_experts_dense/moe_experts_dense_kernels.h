// The two implementations behind moe_experts_dense's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void moe_experts_dense_host(const graph::OpCall& call);
void moe_experts_dense_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
