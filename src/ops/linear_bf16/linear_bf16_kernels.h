// The two implementations behind linear_bf16's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void linear_bf16_host(const graph::OpCall& call);
void linear_bf16_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
