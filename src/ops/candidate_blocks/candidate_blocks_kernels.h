// The two implementations behind candidate_blocks' OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void candidate_blocks_host(const graph::OpCall& call);
void candidate_blocks_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
