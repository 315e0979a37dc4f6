// The two implementations behind hc_collapse's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void hc_collapse_host(const graph::OpCall& call);
void hc_collapse_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
