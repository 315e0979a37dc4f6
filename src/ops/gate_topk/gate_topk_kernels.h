// The two implementations behind gate_topk's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void gate_topk_host(const graph::OpCall& call);
void gate_topk_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
