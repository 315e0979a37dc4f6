#include "ops/linear_bf16/linear_bf16.h"

#include "ops/linear_bf16/linear_bf16_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  const DType out = attrs.dtype("out");
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 2), "x", in[0], "bf16[T,K]"));
  const bool fits = (is_a(in[1], DType::kBF16, 2) || is_a(in[1], DType::kF32, 2)) && in[1].shape[1] == in[0].shape[1];
  DI_TRY(expect_operand(fits, "w", in[1], "bf16 or f32 [N,K] with the K of " + to_string(in[0])));
  DI_TRY(graph::expect(out == DType::kBF16 || out == DType::kF32, "out must be bf16 or f32"));
  DI_TRY(graph::expect(out == DType::kBF16 || attrs.real("fold_scale") == 1.0, "fold_scale needs out = bf16"));
  return std::vector{TensorType{out, {in[0].shape[0], in[1].shape[0]}}};
}

const graph::AttrDecl kAttrs[] = {{"out", graph::AttrKind::kDType}, {"fold_scale", graph::AttrKind::kFloat, 1.0}};

}  // namespace

const graph::OpDef linear_bf16_def{.name = "linear_bf16",
                                   .attrs = kAttrs,
                                   .infer = infer,
                                   .kernel = linear_bf16_host,
                                   .reference = linear_bf16_reference};

graph::Value linear_bf16(graph::Emitter& e, const graph::Value& x, const graph::Value& w, DType out,
                         double fold_scale) {
  return e.emit_one(linear_bf16_def, std::array{x, w}, {{"out", out}, {"fold_scale", fold_scale}});
}

}  // namespace deepinfer::ops
