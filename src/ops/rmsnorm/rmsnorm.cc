#include "ops/rmsnorm/rmsnorm.h"

#include "base/error.h"
#include "ops/registry.h"
#include "ops/rmsnorm/rmsnorm_kernels.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(graph::expect(in[0].dtype == DType::kBF16 && in[0].shape.rank() == 2, "x must be bf16[T,N]"));
  DI_TRY(graph::expect_type("gamma", in[1], {DType::kBF16, {in[0].shape[1]}}));
  return std::vector{in[0]};
}

const graph::AttrDecl kAttrs[] = {{"eps", graph::AttrKind::kFloat}};

}  // namespace

const graph::OpDef rmsnorm_def{
    .name = "rmsnorm", .attrs = kAttrs, .infer = infer, .kernel = rmsnorm_host, .reference = rmsnorm_reference};

graph::Value rmsnorm(graph::Emitter& e, const graph::Value& x, const graph::Value& gamma, double eps) {
  return e.emit_one(rmsnorm_def, std::array{x, gamma}, {{"eps", eps}});
}

}  // namespace deepinfer::ops
