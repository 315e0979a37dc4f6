#include "ops/engram_gate/engram_gate.h"

#include "ops/engram_gate/engram_gate_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 5, 5));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 3), "streams", in[0], "bf16[T,S,D]"));
  const Shape& shape = in[0].shape;
  const TensorType weight{DType::kBF16, {shape[1], shape[2]}};
  DI_TRY(graph::expect_type("kv", in[1], {DType::kBF16, {shape[0], (shape[1] + 1) * shape[2]}}));
  DI_TRY(graph::expect_type("wq", in[2], weight));
  DI_TRY(graph::expect_type("wk", in[3], weight));
  DI_TRY(graph::expect_type("mask", in[4], {DType::kS32, {shape[0]}}));
  return std::vector{in[0]};
}

const graph::AttrDecl kAttrs[] = {{"eps", graph::AttrKind::kFloat}, {"clamp", graph::AttrKind::kFloat, 1e-6}};

}  // namespace

const graph::OpDef engram_gate_def{.name = "engram_gate",
                                   .attrs = kAttrs,
                                   .infer = infer,
                                   .kernel = engram_gate_host,
                                   .reference = engram_gate_reference};

graph::Value engram_gate(graph::Emitter& e, const EngramGateOperands& operands, double eps, double clamp) {
  return e.emit_one(engram_gate_def, std::array{operands.streams, operands.kv, operands.wq, operands.wk, operands.mask},
                    {{"eps", eps}, {"clamp", clamp}});
}

}  // namespace deepinfer::ops
