#include "ops/hc_init/hc_init.h"

#include "base/error.h"
#include "ops/hc_init/hc_init_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 2), "x", in[0], "bf16[T,D]"));
  const std::int64_t streams = attrs.integer("streams");
  if (streams < 1) return errorf(ErrorCode::kInvalidArgument, "streams is {}, expected at least 1", streams);
  const std::int64_t tokens = in[0].shape[0];
  return std::vector{TensorType{DType::kBF16, {tokens, streams, in[0].shape[1]}},
                     TensorType{DType::kF32, {tokens, streams}}};
}

const graph::AttrDecl kAttrs[] = {{"streams", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef hc_init_def{
    .name = "hc_init", .attrs = kAttrs, .infer = infer, .kernel = hc_init_host, .reference = hc_init_reference};

HcInit hc_init(graph::Emitter& e, const graph::Value& x, std::int64_t streams) {
  const auto out = e.emit(hc_init_def, std::array{x}, {{"streams", streams}});
  return {out[0], out[1]};
}

}  // namespace deepinfer::ops
