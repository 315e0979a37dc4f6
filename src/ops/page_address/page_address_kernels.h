// The two implementations behind page_address's OpDef.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void page_address_host(const graph::OpCall& call);
void page_address_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
