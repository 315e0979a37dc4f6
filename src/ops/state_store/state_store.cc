#include "ops/state_store/state_store.h"

#include "ops/registry.h"
#include "ops/state_store/record_address.h"
#include "ops/state_store/state_store_kernels.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer_store(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 4, 4));
  DI_TRY(expect_operand(is_a(in[3], DType::kU8, 2), "rows", in[3], "u8[M,row_bytes]"));
  DI_TRY(check_view(in, attrs, in[3].shape[1]));
  DI_TRY(expect_operand(in[3].shape[0] == in[1].shape[0], "rows", in[3], "as many rows as " + to_string(in[1])));
  return std::vector{in[0]};
}

Result<std::vector<TensorType>> infer_gather(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 3, 3));
  const std::int64_t row_bytes = attrs.integer("row_bytes");
  DI_TRY(check_view(in, attrs, row_bytes));
  return std::vector{TensorType{DType::kU8, {in[1].shape[0], row_bytes}}};
}

const graph::AttrDecl kStoreAttrs[] = {{"kind", graph::AttrKind::kWord},
                                       {"owner", graph::AttrKind::kInt},
                                       {"base", graph::AttrKind::kInt},
                                       {"rows", graph::AttrKind::kInt}};
const graph::AttrDecl kGatherAttrs[] = {{"kind", graph::AttrKind::kWord},
                                        {"owner", graph::AttrKind::kInt},
                                        {"base", graph::AttrKind::kInt},
                                        {"rows", graph::AttrKind::kInt},
                                        {"row_bytes", graph::AttrKind::kInt}};
const graph::InPlace kInPlace[] = {{.operand = 0, .result = 0}};

}  // namespace

const graph::OpDef state_store_def{.name = "state_store",
                                   .attrs = kStoreAttrs,
                                   .infer = infer_store,
                                   .kernel = state_store_host,
                                   .reference = state_store_reference,
                                   .in_place = kInPlace};
const graph::OpDef state_gather_def{.name = "state_gather",
                                    .attrs = kGatherAttrs,
                                    .infer = infer_gather,
                                    .kernel = state_gather_host,
                                    .reference = state_gather_reference};

graph::Attrs view_attrs(const StateView& view) {
  return {{"kind", graph::Word{std::string(view.kind)}},
          {"owner", view.owner},
          {"base", view.base},
          {"rows", view.rows}};
}

graph::Value state_store(graph::Emitter& e, const graph::Value& root, const RecordAddress& at,
                         const graph::Value& rows, const StateView& view) {
  DI_CHECK(rows.type().shape.back() == view.row_bytes, "{} rows for records of {} bytes", to_string(rows.type()),
           view.row_bytes);
  return e.emit_one(state_store_def, std::array{root, at.slot, at.pos, rows}, view_attrs(view));
}

graph::Value state_gather(graph::Emitter& e, const graph::Value& root, const RecordAddress& at,
                          const StateView& view) {
  graph::Attrs attrs = view_attrs(view);
  attrs.set("row_bytes", view.row_bytes);
  return e.emit_one(state_gather_def, std::array{root, at.slot, at.pos}, attrs);
}

}  // namespace deepinfer::ops
