#include "ops/registry.h"

namespace deepinfer::ops {

const graph::OpRegistry& registry() {
  static const graph::OpRegistry instance({
#define DI_OP(folder, op) &op##_def,
#include "ops/op_list.inc"
#undef DI_OP
  });
  return instance;
}

}  // namespace deepinfer::ops
