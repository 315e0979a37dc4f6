// The two implementations behind hc_mixes's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void hc_mixes_host(const graph::OpCall& call);
void hc_mixes_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
