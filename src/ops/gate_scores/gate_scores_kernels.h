// The two implementations behind gate_scores's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void gate_scores_host(const graph::OpCall& call);
void gate_scores_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
