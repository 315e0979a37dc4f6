#include "ops/gate_topk/gate_topk.h"

#include <numeric>

#include "base/error.h"
#include "ops/gate_topk/gate_topk_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 5, 7));
  DI_TRY(graph::expect(in.size() != 6, "6 operands, expected 5, or 7 with bias_vl and image"));
  DI_TRY(expect_operand(is_a(in[0], DType::kF32, 2), "scores", in[0], "f32[T,E]"));
  const std::int64_t experts = in[0].shape[1];
  const TensorType per_token{DType::kS32, {in[0].shape[0]}};
  const TensorType per_expert{DType::kF32, {experts}};
  DI_TRY(graph::expect_type("bias", in[1], per_expert));
  DI_TRY(graph::expect_type("valid", in[2], per_token));
  DI_TRY(graph::expect_type("force", in[3], per_token));
  DI_TRY(graph::expect_type("token_index", in[4], per_token));
  if (in.size() == 7) {
    DI_TRY(graph::expect_type("bias_vl", in[5], per_expert));
    DI_TRY(graph::expect_type("image", in[6], per_token));
  }
  const std::int64_t k = attrs.integer("k");
  if (k < 1 || k > experts) return errorf(ErrorCode::kInvalidArgument, "k is {}, expected 1 to {}", k, experts);
  const std::int64_t step = attrs.integer("hash_step");
  if (experts / std::gcd(step, experts) < k) {
    return errorf(ErrorCode::kInvalidArgument, "hash_step {} repeats ids within {} of {} experts, expected a coprime",
                  step, k, experts);
  }
  return std::vector{TensorType{DType::kS32, {in[0].shape[0], k}}, TensorType{DType::kF32, {in[0].shape[0], k}}};
}

const graph::AttrDecl kAttrs[] = {{"k", graph::AttrKind::kInt},
                                  {"route_scale", graph::AttrKind::kFloat},
                                  {"renorm", graph::AttrKind::kBool, true},
                                  {"layer", graph::AttrKind::kInt},
                                  {"hash_mul", graph::AttrKind::kInt, std::int64_t{1597}},
                                  {"hash_add", graph::AttrKind::kInt, std::int64_t{241}},
                                  {"hash_step", graph::AttrKind::kInt, std::int64_t{61}}};

}  // namespace

const graph::OpDef gate_topk_def{
    .name = "gate_topk", .attrs = kAttrs, .infer = infer, .kernel = gate_topk_host, .reference = gate_topk_reference};

GateTopk gate_topk(graph::Emitter& e, const GateTopkOperands& operands, const GateTopkOptions& options) {
  const std::array all{operands.scores,      operands.bias,    operands.valid, operands.force,
                       operands.token_index, operands.bias_vl, operands.image};
  const auto out = e.emit(gate_topk_def, std::span(all).first(operands.image ? 7 : 5),
                          {{"k", options.k},
                           {"route_scale", options.route_scale},
                           {"renorm", options.renorm},
                           {"layer", options.layer},
                           {"hash_mul", options.hash_mul},
                           {"hash_step", options.hash_step}});
  return {out[0], out[1]};
}

std::int64_t coprime_from(std::int64_t start, std::int64_t num_experts) {
  while (std::gcd(start, num_experts) != 1) ++start;
  return start;
}

}  // namespace deepinfer::ops
