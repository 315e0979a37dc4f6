// The two implementations behind rmsnorm's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void rmsnorm_host(const graph::OpCall& call);
void rmsnorm_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
