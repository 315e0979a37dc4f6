// The two implementations behind embed_rows's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void embed_rows_host(const graph::OpCall& call);
void embed_rows_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
