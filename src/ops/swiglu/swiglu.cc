#include "ops/swiglu/swiglu.h"

#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "ops/swiglu/swiglu_kernels.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 2, 3));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 2), "gate", in[0], "bf16[T,I]"));
  DI_TRY(graph::expect_type("up", in[1], in[0]));
  if (in.size() == 3) DI_TRY(graph::expect_type("w", in[2], {DType::kF32, {in[0].shape[0]}}));
  return std::vector{in[0]};
}

const graph::AttrDecl kAttrs[] = {{"limit", graph::AttrKind::kFloat}};

}  // namespace

const graph::OpDef swiglu_def{
    .name = "swiglu", .attrs = kAttrs, .infer = infer, .kernel = swiglu_host, .reference = swiglu_reference};

graph::Value swiglu(graph::Emitter& e, const graph::Value& gate, const graph::Value& up, double limit,
                    const graph::Value& weight) {
  const std::array operands{gate, up, weight};
  return e.emit_one(swiglu_def, std::span(operands).first(weight ? 3 : 2), {{"limit", limit}});
}

}  // namespace deepinfer::ops
