// The two implementations behind hc_init's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void hc_init_host(const graph::OpCall& call);
void hc_init_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
