#include "ops/grouped_einsum/grouped_einsum.h"

#include "ops/grouped_einsum/grouped_einsum_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 3, 3));
  const std::int64_t kb = attrs.integer("kb");
  const std::int64_t nb = attrs.integer("nb");
  DI_TRY(graph::expect(kb >= 32 && kb % 32 == 0 && nb >= 1, "kb must be a multiple of 32 and nb >= 1"));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 3) && in[0].shape[2] % kb == 0, "x", in[0],
                        "bf16[T,G,Kg] with Kg a multiple of kb"));
  const std::int64_t groups = in[0].shape[1];
  const std::int64_t k = in[0].shape[2];
  DI_TRY(expect_operand(is_bytes(in[1], 2) && in[1].shape[1] == k && in[1].shape[0] % groups == 0, "w", in[1],
                        "e4m3fn[G*R,Kg] with the G and Kg of " + to_string(in[0])));
  const std::int64_t rows = in[1].shape[0];
  DI_TRY(expect_operand(is_bytes(in[2]) && in[2].shape == Shape{ceil_div(rows, nb), k / kb}, "ws", in[2],
                        "ue8m0[ceil(G*R/nb),Kg/kb]"));
  return std::vector{TensorType{DType::kBF16, {in[0].shape[0], groups, rows / groups}}};
}

const graph::AttrDecl kAttrs[] = {{"kb", graph::AttrKind::kInt, std::int64_t{32}},
                                  {"nb", graph::AttrKind::kInt, std::int64_t{32}}};

}  // namespace

const graph::OpDef grouped_einsum_def{.name = "grouped_einsum",
                                      .attrs = kAttrs,
                                      .infer = infer,
                                      .kernel = grouped_einsum_host,
                                      .reference = grouped_einsum_reference};

graph::Value grouped_einsum(graph::Emitter& e, const graph::Value& x, const BlockWeight& weight) {
  DI_CHECK(weight.format == WeightFormat::kE4M3, "grouped_einsum takes e4m3 weights only");
  return e.emit_one(grouped_einsum_def, std::array{x, weight.w, weight.ws}, {{"kb", weight.kb}, {"nb", weight.nb}});
}

}  // namespace deepinfer::ops
