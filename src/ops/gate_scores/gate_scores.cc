#include "ops/gate_scores/gate_scores.h"

#include "ops/gate_scores/gate_scores_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 2), "x", in[0], "bf16[T,D]"));
  DI_TRY(expect_operand(is_a(in[1], DType::kBF16, 2) && in[1].shape[1] == in[0].shape[1], "wg", in[1],
                        "bf16[E,D] with the D of " + to_string(in[0])));
  DI_TRY(graph::expect(attrs.real("temp") > 0, "temp must be positive"));
  return std::vector{TensorType{DType::kF32, {in[0].shape[0], in[1].shape[0]}}};
}

const graph::AttrDecl kAttrs[] = {{"temp", graph::AttrKind::kFloat, 1.0}};

}  // namespace

const graph::OpDef gate_scores_def{.name = "gate_scores",
                                   .attrs = kAttrs,
                                   .infer = infer,
                                   .kernel = gate_scores_host,
                                   .reference = gate_scores_reference};

graph::Value gate_scores(graph::Emitter& e, const graph::Value& x, const graph::Value& wg, double temp) {
  return e.emit_one(gate_scores_def, std::array{x, wg}, {{"temp", temp}});
}

}  // namespace deepinfer::ops
