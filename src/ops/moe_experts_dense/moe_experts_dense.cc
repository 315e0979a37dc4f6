#include "ops/moe_experts_dense/moe_experts_dense.h"

#include "base/error.h"
#include "ops/moe_experts_dense/moe_experts_dense_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "tensor/numeric/range.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kBlock = 32;  // columns under one scale

Status expect_bytes(std::string_view name, const TensorType& found, const Shape& shape) {
  if (dtype_bytes(found.dtype) == 1 && found.shape == shape) return {};
  return errorf(ErrorCode::kInvalidArgument, "operand {} is {}, expected {} of bytes", name, to_string(found),
                to_string(TensorType{DType::kU8, shape}));
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 9, 9));
  DI_TRY(expect_operand(in[0].shape.rank() == 2, "codes", in[0], "u8[T,D]"));
  DI_TRY(expect_operand(is_a(in[2], DType::kF32, 2), "w", in[2], "f32[T,E]"));
  DI_TRY(expect_operand(in[3].shape.rank() == 3, "w1", in[3], "u8[E,I,D/2]"));
  const std::int64_t tokens = in[0].shape[0];
  const std::int64_t hidden = in[0].shape[1];
  const std::int64_t experts = in[2].shape[1];
  const std::int64_t width = in[3].shape[1];
  if (hidden % kBlock != 0 || width % kBlock != 0) {
    return errorf(ErrorCode::kInvalidArgument, "hidden size {} and intermediate size {}, expected multiples of {}",
                  hidden, width, kBlock);
  }
  DI_TRY(expect_bytes("codes", in[0], {tokens, hidden}));
  DI_TRY(expect_bytes("scales", in[1], {tokens, hidden / kBlock}));
  DI_TRY(graph::expect_type("w", in[2], {DType::kF32, {tokens, experts}}));
  const Shape up{experts, width, hidden / 2}, up_scale{experts, width, hidden / kBlock};
  DI_TRY(expect_bytes("w1", in[3], up));
  DI_TRY(expect_bytes("w1 scale", in[4], up_scale));
  DI_TRY(expect_bytes("w3", in[5], up));
  DI_TRY(expect_bytes("w3 scale", in[6], up_scale));
  DI_TRY(expect_bytes("w2", in[7], {experts, hidden, width / 2}));
  DI_TRY(expect_bytes("w2 scale", in[8], {experts, hidden, width / kBlock}));
  return std::vector{TensorType{DType::kF32, {tokens, hidden}}};
}

const graph::AttrDecl kAttrs[] = {{"limit", graph::AttrKind::kFloat},
                                  {"max", graph::AttrKind::kFloat, double{numeric::kE4M3FnMax}}};

}  // namespace

const graph::OpDef moe_experts_dense_def{.name = "moe_experts_dense",
                                         .attrs = kAttrs,
                                         .infer = infer,
                                         .kernel = moe_experts_dense_host,
                                         .reference = moe_experts_dense_reference};

graph::Value moe_experts_dense(graph::Emitter& e, const MoeInput& input, const ExpertMatrices& experts, double limit,
                               double max) {
  return e.emit_one(moe_experts_dense_def,
                    std::array{input.codes, input.scales, input.weights, experts.w1.w, experts.w1.scale, experts.w3.w,
                               experts.w3.scale, experts.w2.w, experts.w2.scale},
                    {{"limit", limit}, {"max", max}});
}

}  // namespace deepinfer::ops
