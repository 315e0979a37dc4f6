// The two implementations behind window_concat's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void window_concat_host(const graph::OpCall& call);
void window_concat_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
