// The two implementations behind dequant's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void dequant_host(const graph::OpCall& call);
void dequant_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
