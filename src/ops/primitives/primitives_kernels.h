// The implementations behind the data movement OpDefs. Views have no host kernel.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void slice_host(const graph::OpCall& call);
void concat_host(const graph::OpCall& call);
void gather_rows_host(const graph::OpCall& call);

void reshape_reference(const graph::OpCall& call);
void slice_rows_reference(const graph::OpCall& call);
void slice_reference(const graph::OpCall& call);
void concat_reference(const graph::OpCall& call);
void gather_rows_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
