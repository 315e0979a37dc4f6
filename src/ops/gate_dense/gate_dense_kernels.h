// The two implementations behind gate_dense's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void gate_dense_host(const graph::OpCall& call);
void gate_dense_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
