#include "ops/topk_select/topk_select.h"

#include "base/error.h"
#include "ops/registry.h"
#include "ops/topk_select/topk_select_kernels.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  const TensorType& scores = in[0];
  DI_TRY(graph::expect((scores.dtype == DType::kBF16 || scores.dtype == DType::kF32) && scores.shape.rank() == 2,
                       "scores must be bf16[T,R] or f32[T,R]"));
  DI_TRY(graph::expect_type("visible", in[1], {DType::kS32, {scores.shape[0]}}));
  const std::int64_t k = attrs.integer("k");
  if (k < 1 || k > scores.shape[1]) {
    return errorf(ErrorCode::kInvalidArgument, "k = {}, accepted 1 to {} rows", k, scores.shape[1]);
  }
  return std::vector{TensorType{DType::kS32, {scores.shape[0], k}}, TensorType{DType::kS32, {scores.shape[0]}}};
}

const graph::AttrDecl kAttrs[] = {{"k", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef topk_select_def{.name = "topk_select",
                                   .attrs = kAttrs,
                                   .infer = infer,
                                   .kernel = topk_select_host,
                                   .reference = topk_select_reference};

Selection topk_select(graph::Emitter& e, const graph::Value& scores, const graph::Value& visible, std::int64_t k) {
  const std::vector<graph::Value> out = e.emit(topk_select_def, std::array{scores, visible}, {{"k", k}});
  return {out[0], out[1]};
}

}  // namespace deepinfer::ops
