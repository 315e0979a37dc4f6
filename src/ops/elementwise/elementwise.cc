#include "ops/elementwise/elementwise.h"

#include "ops/elementwise/elementwise_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

bool is_f32_or_bf16(DType dtype) { return dtype == DType::kF32 || dtype == DType::kBF16; }

Result<std::vector<TensorType>> infer_convert(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  DI_TRY(expect_operand(is_f32_or_bf16(in[0].dtype), "x", in[0], "f32 or bf16"));
  DI_TRY(graph::expect(is_f32_or_bf16(attrs.dtype("to")), "to must be f32 or bf16"));
  return std::vector{TensorType{attrs.dtype("to"), in[0].shape}};
}

Result<std::vector<TensorType>> infer_add(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(is_f32_or_bf16(in[0].dtype), "a", in[0], "f32 or bf16"));
  DI_TRY(graph::expect_type("b", in[1], in[0]));
  return std::vector{in[0]};
}

const graph::AttrDecl kConvertAttrs[] = {{"to", graph::AttrKind::kDType}};

}  // namespace

const graph::OpDef convert_def{.name = "convert",
                               .level = graph::OpLevel::kPrimitive,
                               .attrs = kConvertAttrs,
                               .infer = infer_convert,
                               .kernel = convert_host,
                               .reference = convert_reference};
const graph::OpDef add_def{.name = "add",
                           .level = graph::OpLevel::kPrimitive,
                           .infer = infer_add,
                           .kernel = add_host,
                           .reference = add_reference};

graph::Value convert(graph::Emitter& e, const graph::Value& x, DType to) {
  return e.emit_one(convert_def, std::array{x}, {{"to", to}});
}

graph::Value add(graph::Emitter& e, const graph::Value& a, const graph::Value& b) {
  return e.emit_one(add_def, std::array{a, b});
}

}  // namespace deepinfer::ops
