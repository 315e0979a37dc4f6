#include "ops/primitives/primitives.h"

#include "ops/primitives/primitives_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

using Types = std::span<const TensorType>;

Shape with_extent(const Shape& shape, int axis, std::int64_t extent) {
  std::vector<std::int64_t> extents(shape.extents().begin(), shape.extents().end());
  extents[static_cast<std::size_t>(axis)] = extent;
  return Shape(std::span<const std::int64_t>(extents));
}

Result<std::vector<TensorType>> infer_reshape(Types in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  const std::vector<std::int64_t>& extents = attrs.integers("shape");
  DI_TRY(graph::expect(extents.size() <= Shape::kMaxRank, "shape must have at most 6 extents"));
  std::int64_t count = 1;
  for (const std::int64_t extent : extents) count *= extent;
  if (count != in[0].num_elements()) {
    return errorf(ErrorCode::kInvalidArgument, "shape holds {} elements, operand x is {}", count, to_string(in[0]));
  }
  return std::vector{TensorType{in[0].dtype, Shape(std::span<const std::int64_t>(extents))}};
}

Result<std::vector<TensorType>> infer_range(const TensorType& x, const SliceRange& range) {
  if (range.axis < 0 || range.axis >= x.shape.rank() || range.begin < 0 || range.begin >= range.end ||
      range.end > x.shape[range.axis]) {
    return errorf(ErrorCode::kInvalidArgument, "slice [{}, {}) of axis {} is outside operand x, {}", range.begin,
                  range.end, range.axis, to_string(x));
  }
  return std::vector{TensorType{x.dtype, with_extent(x.shape, range.axis, range.end - range.begin)}};
}

Result<std::vector<TensorType>> infer_slice_rows(Types in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  return infer_range(in[0], {0, attrs.integer("begin"), attrs.integer("end")});
}

Result<std::vector<TensorType>> infer_slice(Types in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  return infer_range(in[0], {static_cast<int>(attrs.integer("axis")), attrs.integer("begin"), attrs.integer("end")});
}

Result<std::vector<TensorType>> infer_concat(Types in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 64));
  const auto axis = static_cast<int>(attrs.integer("axis"));
  if (axis < 0 || axis >= in[0].shape.rank()) {
    return errorf(ErrorCode::kInvalidArgument, "axis {} of operand 0, {}", axis, to_string(in[0]));
  }
  std::int64_t extent = 0;
  for (const TensorType& part : in) {
    const bool fits = part.dtype == in[0].dtype && part.shape.rank() == in[0].shape.rank() &&
                      with_extent(part.shape, axis, 1) == with_extent(in[0].shape, axis, 1);
    DI_TRY(expect_operand(fits, "part", part, to_string(in[0]) + " up to the extent of the axis"));
    extent += part.shape[axis];
  }
  return std::vector{TensorType{in[0].dtype, with_extent(in[0].shape, axis, extent)}};
}

Result<std::vector<TensorType>> infer_gather_rows(Types in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  DI_TRY(expect_operand(in[0].shape.rank() >= 1, "src", in[0], "[R, ...]"));
  DI_TRY(expect_operand(is_a(in[1], DType::kS32, 1), "idx", in[1], "s32[N]"));
  return std::vector{TensorType{in[0].dtype, with_extent(in[0].shape, 0, in[1].shape[0])}};
}

std::int64_t offset_of_reshape(Types, const graph::Attrs&) { return 0; }
std::int64_t offset_of_rows(Types in, const graph::Attrs& attrs) {
  return attrs.integer("begin") * in[0].shape.inner(1) * dtype_bytes(in[0].dtype);
}

const graph::AttrDecl kReshapeAttrs[] = {{"shape", graph::AttrKind::kInts}};
const graph::AttrDecl kRowsAttrs[] = {{"begin", graph::AttrKind::kInt}, {"end", graph::AttrKind::kInt}};
const graph::AttrDecl kSliceAttrs[] = {
    {"axis", graph::AttrKind::kInt}, {"begin", graph::AttrKind::kInt}, {"end", graph::AttrKind::kInt}};
const graph::AttrDecl kConcatAttrs[] = {{"axis", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef reshape_def{.name = "reshape",
                               .level = graph::OpLevel::kPrimitive,
                               .attrs = kReshapeAttrs,
                               .infer = infer_reshape,
                               .reference = reshape_reference,
                               .view_offset = offset_of_reshape};
const graph::OpDef slice_rows_def{.name = "slice_rows",
                                  .level = graph::OpLevel::kPrimitive,
                                  .attrs = kRowsAttrs,
                                  .infer = infer_slice_rows,
                                  .reference = slice_rows_reference,
                                  .view_offset = offset_of_rows};
const graph::OpDef slice_def{.name = "slice",
                             .level = graph::OpLevel::kPrimitive,
                             .attrs = kSliceAttrs,
                             .infer = infer_slice,
                             .kernel = slice_host,
                             .reference = slice_reference};
const graph::OpDef concat_def{.name = "concat",
                              .level = graph::OpLevel::kPrimitive,
                              .attrs = kConcatAttrs,
                              .infer = infer_concat,
                              .kernel = concat_host,
                              .reference = concat_reference};
const graph::OpDef gather_rows_def{.name = "gather_rows",
                                   .level = graph::OpLevel::kPrimitive,
                                   .infer = infer_gather_rows,
                                   .kernel = gather_rows_host,
                                   .reference = gather_rows_reference};

graph::Value reshape(graph::Emitter& e, const graph::Value& x, const Shape& shape) {
  const auto extents = shape.extents();
  return e.emit_one(reshape_def, std::array{x}, {{"shape", std::vector<std::int64_t>(extents.begin(), extents.end())}});
}

graph::Value slice_rows(graph::Emitter& e, const graph::Value& x, std::int64_t begin, std::int64_t end) {
  return e.emit_one(slice_rows_def, std::array{x}, {{"begin", begin}, {"end", end}});
}

graph::Value slice(graph::Emitter& e, const graph::Value& x, const SliceRange& range) {
  return e.emit_one(slice_def, std::array{x},
                    {{"axis", std::int64_t{range.axis}}, {"begin", range.begin}, {"end", range.end}});
}

graph::Value concat(graph::Emitter& e, std::span<const graph::Value> parts, int axis) {
  return e.emit_one(concat_def, parts, {{"axis", std::int64_t{axis}}});
}

graph::Value gather_rows(graph::Emitter& e, const graph::Value& src, const graph::Value& idx) {
  return e.emit_one(gather_rows_def, std::array{src, idx});
}

}  // namespace deepinfer::ops
