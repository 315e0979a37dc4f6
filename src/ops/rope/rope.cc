#include "ops/rope/rope.h"

#include "ops/registry.h"
#include "ops/rope/rope_kernels.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 3, 3));
  DI_TRY(expect_operand(in[0].dtype == DType::kBF16 && in[0].shape.rank() >= 2, "x", in[0], "bf16[T,...,N]"));
  const bool fits = is_a(in[1], DType::kF32, 2) && in[1].shape[0] == in[0].shape[0] &&
                    2 * in[1].shape[1] <= in[0].shape.back();
  DI_TRY(expect_operand(fits, "cos", in[1], "f32[T,R/2] with R <= N of " + to_string(in[0])));
  DI_TRY(graph::expect_type("sin", in[2], in[1]));
  return std::vector{in[0]};
}

const graph::AttrDecl kAttrs[] = {{"conjugate", graph::AttrKind::kBool, false}};

}  // namespace

const graph::OpDef rope_def{
    .name = "rope", .attrs = kAttrs, .infer = infer, .kernel = rope_host, .reference = rope_reference};

graph::Value rope(graph::Emitter& e, const graph::Value& x, const RopeTables& tables, Rotation rotation) {
  return e.emit_one(rope_def, std::array{x, tables.cos, tables.sin},
                    {{"conjugate", rotation == Rotation::kConjugate}});
}

}  // namespace deepinfer::ops
