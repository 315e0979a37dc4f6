// The two implementations behind hc_expand's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void hc_expand_host(const graph::OpCall& call);
void hc_expand_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
