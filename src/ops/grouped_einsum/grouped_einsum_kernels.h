// The two implementations behind grouped_einsum's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void grouped_einsum_host(const graph::OpCall& call);
void grouped_einsum_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
