// The two implementations behind lm_head's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void lm_head_host(const graph::OpCall& call);
void lm_head_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
