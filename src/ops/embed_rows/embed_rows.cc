#include "ops/embed_rows/embed_rows.h"

#include "ops/embed_rows/embed_rows_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 2), "table", in[0], "bf16[V,D]"));
  DI_TRY(expect_operand(is_a(in[1], DType::kS32, 1), "ids", in[1], "s32[T]"));
  return std::vector{TensorType{DType::kBF16, {in[1].shape[0], in[0].shape[1]}}};
}

}  // namespace

const graph::OpDef embed_rows_def{
    .name = "embed_rows", .infer = infer, .kernel = embed_rows_host, .reference = embed_rows_reference};

graph::Value embed_rows(graph::Emitter& e, const graph::Value& table, const graph::Value& ids) {
  return e.emit_one(embed_rows_def, std::array{table, ids});
}

}  // namespace deepinfer::ops
