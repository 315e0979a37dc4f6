#include "ops/candidate_blocks/candidate_blocks.h"

#include "base/error.h"
#include "ops/candidate_blocks/candidate_blocks_kernels.h"
#include "ops/registry.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  const TensorType& scores = in[0];
  DI_TRY(graph::expect((scores.dtype == DType::kBF16 || scores.dtype == DType::kF32) && scores.shape.rank() == 2,
                       "scores must be bf16[T,R] or f32[T,R]"));
  DI_TRY(graph::expect_type("visible", in[1], {DType::kS32, {scores.shape[0]}}));
  const std::int64_t block = attrs.integer("block");
  const std::int64_t keep = attrs.integer("keep");
  DI_TRY(graph::expect(block >= 1 && keep >= 1, "block and keep must be at least 1"));
  const std::int64_t kept = std::min(keep, (scores.shape[1] + block - 1) / block);
  return std::vector{TensorType{DType::kS32, {scores.shape[0], kept}}, TensorType{DType::kS32, {scores.shape[0]}}};
}

const graph::AttrDecl kAttrs[] = {{"block", graph::AttrKind::kInt, std::int64_t{8}},
                                  {"keep", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef candidate_blocks_def{.name = "candidate_blocks",
                                        .attrs = kAttrs,
                                        .infer = infer,
                                        .kernel = candidate_blocks_host,
                                        .reference = candidate_blocks_reference};

Selection candidate_blocks(graph::Emitter& e, const graph::Value& scores, const graph::Value& visible,
                           const CandidateAttrs& attrs) {
  const std::vector<graph::Value> out = e.emit(candidate_blocks_def, std::array{scores, visible},
                                               {{"block", attrs.block}, {"keep", attrs.keep}});
  return {out[0], out[1]};
}

}  // namespace deepinfer::ops
