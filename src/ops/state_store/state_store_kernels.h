// The implementations behind the OpDefs of state_store and state_gather.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void state_store_host(const graph::OpCall& call);
void state_store_reference(const graph::OpCall& call);
void state_gather_host(const graph::OpCall& call);
void state_gather_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
