// The two implementations behind engram_fetch's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void engram_fetch_host(const graph::OpCall& call);
void engram_fetch_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
