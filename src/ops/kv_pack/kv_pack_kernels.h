// The implementations behind the OpDefs of kv_pack and kv_unpack.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
void kv_pack_host(const graph::OpCall& call);
void kv_pack_reference(const graph::OpCall& call);
void kv_unpack_host(const graph::OpCall& call);
void kv_unpack_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
