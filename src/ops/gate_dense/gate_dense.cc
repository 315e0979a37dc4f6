#include "ops/gate_dense/gate_dense.h"

#include "base/error.h"
#include "ops/gate_dense/gate_dense_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(is_a(in[0], DType::kS32, 2), "ids", in[0], "s32[T,k]"));
  DI_TRY(graph::expect_type("weights", in[1], {DType::kF32, in[0].shape}));
  const std::int64_t first = attrs.integer("first_expert");
  const std::int64_t local = attrs.integer("num_local");
  if (first < 0 || local < 1) {
    return errorf(ErrorCode::kInvalidArgument, "first_expert {} and num_local {}, expected >= 0 and >= 1", first,
                  local);
  }
  return std::vector{TensorType{DType::kF32, {in[0].shape[0], local}}};
}

const graph::AttrDecl kAttrs[] = {{"first_expert", graph::AttrKind::kInt}, {"num_local", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef gate_dense_def{.name = "gate_dense",
                                  .attrs = kAttrs,
                                  .infer = infer,
                                  .kernel = gate_dense_host,
                                  .reference = gate_dense_reference};

graph::Value gate_dense(graph::Emitter& e, const graph::Value& ids, const graph::Value& weights,
                        std::int64_t first_expert, std::int64_t num_local) {
  return e.emit_one(gate_dense_def, std::array{ids, weights},
                    {{"first_expert", first_expert}, {"num_local", num_local}});
}

}  // namespace deepinfer::ops
