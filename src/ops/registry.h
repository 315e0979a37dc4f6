// The registry of all ops, from op_list.inc.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {
#define DI_OP(folder, op) extern const graph::OpDef op##_def;
#include "ops/op_list.inc"
#undef DI_OP

const graph::OpRegistry& registry();

}  // namespace deepinfer::ops
