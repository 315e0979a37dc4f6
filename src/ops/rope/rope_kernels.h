// The two implementations behind rope's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void rope_host(const graph::OpCall& call);
void rope_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
