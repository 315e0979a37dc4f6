#include "ops/embed_rows/embed_rows_kernels.h"
#include "ops/primitives/primitives_kernels.h"

namespace deepinfer::ops {

void embed_rows_host(const graph::OpCall& call) { gather_rows_host(call); }

}  // namespace deepinfer::ops
