#include "ops/hc_collapse/hc_collapse.h"

#include "ops/hc_collapse/hc_collapse_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 3), "streams", in[0], "bf16[T,S,D]"));
  DI_TRY(graph::expect_type("mix", in[1], {DType::kF32, {in[0].shape[0], in[0].shape[1]}}));
  return std::vector{TensorType{DType::kBF16, {in[0].shape[0], in[0].shape[2]}}};
}

}  // namespace

const graph::OpDef hc_collapse_def{
    .name = "hc_collapse", .infer = infer, .kernel = hc_collapse_host, .reference = hc_collapse_reference};

graph::Value hc_collapse(graph::Emitter& e, const graph::Value& streams, const graph::Value& mix) {
  return e.emit_one(hc_collapse_def, std::array{streams, mix});
}

}  // namespace deepinfer::ops
