#include "ops/stream_mean/stream_mean.h"

#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "ops/stream_mean/stream_mean_kernels.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 3), "streams", in[0], "bf16[T,S,D]"));
  return std::vector{TensorType{DType::kBF16, {in[0].shape[0], in[0].shape[2]}}};
}

}  // namespace

const graph::OpDef stream_mean_def{
    .name = "stream_mean", .infer = infer, .kernel = stream_mean_host, .reference = stream_mean_reference};

graph::Value stream_mean(graph::Emitter& e, const graph::Value& streams) {
  return e.emit_one(stream_mean_def, std::array{streams});
}

}  // namespace deepinfer::ops
