// The two implementations behind stream_mean's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void stream_mean_host(const graph::OpCall& call);
void stream_mean_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
