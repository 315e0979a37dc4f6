#include "ops/lm_head/lm_head.h"

#include "ops/lm_head/lm_head_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 2), "x", in[0], "bf16[T,D]"));
  DI_TRY(expect_operand(is_a(in[1], DType::kBF16, 2) && in[1].shape[1] == in[0].shape[1], "w", in[1],
                        "bf16[V,D] with the D of " + to_string(in[0])));
  return std::vector{TensorType{DType::kF32, {in[0].shape[0], in[1].shape[0]}}};
}

}  // namespace

const graph::OpDef lm_head_def{
    .name = "lm_head", .infer = infer, .kernel = lm_head_host, .reference = lm_head_reference};

graph::Value lm_head(graph::Emitter& e, const graph::Value& x, const graph::Value& w) {
  return e.emit_one(lm_head_def, std::array{x, w});
}

}  // namespace deepinfer::ops
