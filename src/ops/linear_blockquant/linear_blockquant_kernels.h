// The two implementations behind linear_blockquant's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void linear_blockquant_host(const graph::OpCall& call);
void linear_blockquant_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
