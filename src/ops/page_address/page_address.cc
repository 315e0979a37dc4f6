#include "ops/page_address/page_address.h"

#include "ops/page_address/page_address_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(is_a(in[0], DType::kS32, 2), "ids", in[0], "s32[T,k]"));
  DI_TRY(expect_operand(is_a(in[1], DType::kS32, 2) && in[1].shape[0] == in[0].shape[0], "block_table", in[1],
                        "s32[T,B] with the T of " + to_string(in[0])));
  DI_TRY(graph::expect(attrs.integer("rows") >= 1, "rows must be positive"));
  const TensorType out{DType::kS32, {in[0].num_elements()}};
  return std::vector{out, out};
}

const graph::AttrDecl kAttrs[] = {{"rows", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef page_address_def{.name = "page_address",
                                    .attrs = kAttrs,
                                    .infer = infer,
                                    .kernel = page_address_host,
                                    .reference = page_address_reference};

RecordAddress page_address(graph::Emitter& e, const graph::Value& ids, const graph::Value& block_table,
                           std::int64_t rows) {
  const auto results = e.emit(page_address_def, std::array{ids, block_table}, {{"rows", rows}});
  return {results[0], results[1]};
}

}  // namespace deepinfer::ops
