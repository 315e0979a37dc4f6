#include "ops/hc_mixes/hc_mixes.h"

#include "base/error.h"
#include "ops/hc_mixes/hc_mixes_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 4, 4));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 3), "streams", in[0], "bf16[T,S,D]"));
  const std::int64_t tokens = in[0].shape[0];
  const std::int64_t streams = in[0].shape[1];
  const std::int64_t rows = (2 + streams) * streams;
  DI_TRY(graph::expect_type("fn", in[1], {DType::kF32, {rows, streams * in[0].shape[2]}}));
  DI_TRY(graph::expect_type("scale", in[2], {DType::kF32, {3}}));
  DI_TRY(graph::expect_type("base", in[3], {DType::kF32, {rows}}));
  const std::int64_t iters = attrs.integer("iters");
  if (iters < 1) return errorf(ErrorCode::kInvalidArgument, "iters is {}, expected at least 1", iters);
  const TensorType mix{DType::kF32, {tokens, streams}};
  return std::vector{mix, mix, TensorType{DType::kF32, {tokens, streams, streams}}};
}

const graph::AttrDecl kAttrs[] = {{"iters", graph::AttrKind::kInt, std::int64_t{20}},
                                  {"eps", graph::AttrKind::kFloat, 1e-6},
                                  {"norm_eps", graph::AttrKind::kFloat}};

}  // namespace

const graph::OpDef hc_mixes_def{
    .name = "hc_mixes", .attrs = kAttrs, .infer = infer, .kernel = hc_mixes_host, .reference = hc_mixes_reference};

HcMixes hc_mixes(graph::Emitter& e, const graph::Value& streams, const HcWeights& weights, const HcOptions& options) {
  const auto out = e.emit(hc_mixes_def, std::array{streams, weights.fn, weights.scale, weights.base},
                          {{"iters", options.iters}, {"eps", options.eps}, {"norm_eps", options.norm_eps}});
  return {out[0], out[1], out[2]};
}

}  // namespace deepinfer::ops
