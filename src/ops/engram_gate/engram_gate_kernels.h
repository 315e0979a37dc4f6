// The two implementations behind engram_gate's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void engram_gate_host(const graph::OpCall& call);
void engram_gate_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
