// The two implementations behind engram_hash's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void engram_hash_host(const graph::OpCall& call);
void engram_hash_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
