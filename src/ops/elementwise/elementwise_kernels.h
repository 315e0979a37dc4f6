// The implementations behind the elementwise OpDefs.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void convert_host(const graph::OpCall& call);
void convert_reference(const graph::OpCall& call);
void add_host(const graph::OpCall& call);
void add_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
