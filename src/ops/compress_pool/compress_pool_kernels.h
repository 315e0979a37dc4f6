// The implementations behind the three OpDefs.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void compress_pool_host(const graph::OpCall& call);
void compress_pool_reference(const graph::OpCall& call);
void compress_pool_varlen_host(const graph::OpCall& call);
void compress_pool_varlen_reference(const graph::OpCall& call);
void compress_store_host(const graph::OpCall& call);
void compress_store_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
