#include "ops/window_concat/window_concat.h"

#include "ops/registry.h"
#include "ops/state_store/record_address.h"
#include "ops/window_concat/window_concat_kernels.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 4, 4));
  DI_TRY(expect_operand(is_a(in[3], DType::kU8, 2), "rows", in[3], "u8[T,row_bytes]"));
  DI_TRY(check_view(in, attrs, in[3].shape[1]));
  return std::vector{TensorType{DType::kU8, {in[1].shape[0] + in[3].shape[0], in[3].shape[1]}}};
}

const graph::AttrDecl kAttrs[] = {{"kind", graph::AttrKind::kWord},
                                  {"owner", graph::AttrKind::kInt},
                                  {"base", graph::AttrKind::kInt},
                                  {"rows", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef window_concat_def{.name = "window_concat",
                                     .attrs = kAttrs,
                                     .infer = infer,
                                     .kernel = window_concat_host,
                                     .reference = window_concat_reference};

graph::Value window_concat(graph::Emitter& e, const graph::Value& root, const RecordAddress& at,
                           const graph::Value& rows, const StateView& view) {
  DI_CHECK(rows.type().shape.back() == view.row_bytes, "{} rows for records of {} bytes", to_string(rows.type()),
           view.row_bytes);
  return e.emit_one(window_concat_def, std::array{root, at.slot, at.pos, rows}, view_attrs(view));
}

}  // namespace deepinfer::ops
