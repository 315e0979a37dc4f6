#include "ops/hc_expand/hc_expand.h"

#include "ops/hc_expand/hc_expand_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 4, 4));
  DI_TRY(expect_operand(is_a(in[1], DType::kBF16, 3), "streams", in[1], "bf16[T,S,D]"));
  const Shape& shape = in[1].shape;
  DI_TRY(graph::expect_type("y", in[0], {DType::kBF16, {shape[0], shape[2]}}));
  DI_TRY(graph::expect_type("post", in[2], {DType::kF32, {shape[0], shape[1]}}));
  DI_TRY(graph::expect_type("comb", in[3], {DType::kF32, {shape[0], shape[1], shape[1]}}));
  return std::vector{in[1]};
}

}  // namespace

const graph::OpDef hc_expand_def{
    .name = "hc_expand", .infer = infer, .kernel = hc_expand_host, .reference = hc_expand_reference};

graph::Value hc_expand(graph::Emitter& e, const graph::Value& y, const graph::Value& streams, const graph::Value& post,
                       const graph::Value& comb) {
  return e.emit_one(hc_expand_def, std::array{y, streams, post, comb});
}

}  // namespace deepinfer::ops
