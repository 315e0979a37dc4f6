#include "ops/sparse_attn/sparse_attn.h"

#include "base/error.h"
#include "ops/registry.h"
#include "ops/sparse_attn/sparse_attn_kernels.h"

namespace deepinfer::ops {
namespace {

using graph::AttrKind;
using graph::expect;
using graph::expect_type;

Status check_common(const TensorType& q, const TensorType& sink, const graph::Attrs& attrs) {
  DI_TRY(expect(q.dtype == DType::kBF16 && q.shape.rank() == 3 && q.shape[2] % 32 == 0,
                "q must be bf16[T,H,C] with C % 32 = 0"));
  DI_TRY(expect_type("sink", sink, {DType::kF32, {q.shape[1]}}));
  DI_TRY(expect(attrs.integer("window") >= 1, "window must be at least 1"));
  const std::string& holes = attrs.word("holes");
  return expect(holes == "end" || holes == "front", "holes must be end or front");
}

std::int64_t window_bytes(const TensorType& q) { return q.shape[2] + q.shape[2] / 32; }
std::int64_t selected_bytes(const TensorType& q) { return q.shape[2] / 2 + q.shape[2] / 16; }

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(expect(in.size() == 4 || in.size() == 6, "expected 4 or 6 operands"));
  const TensorType& q = in[0];
  DI_TRY(check_common(q, in.back(), attrs));
  const std::int64_t tokens = q.shape[0];
  DI_TRY(expect_type("window", in[1], {DType::kU8, {tokens * attrs.integer("window"), window_bytes(q)}}));
  DI_TRY(expect_type("wcount", in[2], {DType::kS32, {tokens}}));
  if (in.size() == 6) {
    DI_TRY(expect(in[3].dtype == DType::kU8 && in[3].shape.rank() == 2 && in[3].shape[0] % tokens == 0 &&
                      in[3].shape[1] == selected_bytes(q),
                  "selected must be u8[T*Ks, C/2 + C/16]"));
    DI_TRY(expect_type("scount", in[4], {DType::kS32, {tokens}}));
  }
  return std::vector{q};
}

Result<std::vector<TensorType>> infer_varlen(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(expect(in.size() == 5 || in.size() == 10, "expected 5 or 10 operands"));
  const TensorType& q = in[0];
  DI_TRY(check_common(q, in.back(), attrs));
  const std::int64_t tokens = q.shape[0];
  DI_TRY(expect(in[1].dtype == DType::kU8 && in[1].shape.rank() == 2 && in[1].shape[1] == window_bytes(q),
                "window_buf must be u8[N, C + C/32]"));
  DI_TRY(expect_type("win_index", in[2], {DType::kS32, {tokens, attrs.integer("window")}}));
  DI_TRY(expect_type("wcount", in[3], {DType::kS32, {tokens}}));
  if (in.size() == 10) {
    DI_TRY(check_page_view(in[4], page_view(attrs), selected_bytes(q)));
    DI_TRY(expect(in[5].dtype == DType::kS32 && in[5].shape.rank() == 2, "block_table must be s32[S,Bt]"));
    DI_TRY(expect_type("seq", in[6], {DType::kS32, {tokens}}));
    DI_TRY(expect(in[7].dtype == DType::kS32 && in[7].shape.rank() == 2 && in[7].shape[0] == tokens,
                  "ids must be s32[T,Ks]"));
    DI_TRY(expect_type("scount", in[8], {DType::kS32, {tokens}}));
  }
  return std::vector{q};
}

const graph::AttrDecl kAttrs[] = {
    {"scale", AttrKind::kFloat}, {"window", AttrKind::kInt}, {"holes", AttrKind::kWord, graph::Word{"end"}}};
const graph::AttrDecl kVarlenAttrs[] = {{"scale", AttrKind::kFloat},
                                        {"window", AttrKind::kInt},
                                        {"holes", AttrKind::kWord, graph::Word{"end"}},
                                        {"base", AttrKind::kInt, std::int64_t{0}},
                                        {"rows", AttrKind::kInt, std::int64_t{0}},
                                        {"row_bytes", AttrKind::kInt, std::int64_t{0}}};

graph::Attrs to_attrs(const SparseAttnAttrs& attrs) {
  return {{"scale", attrs.scale},
          {"window", attrs.window},
          {"holes", graph::Word{attrs.holes == Holes::kEnd ? "end" : "front"}}};
}

}  // namespace

const graph::OpDef sparse_attn_def{.name = "sparse_attn",
                                   .attrs = kAttrs,
                                   .infer = infer,
                                   .kernel = sparse_attn_host,
                                   .reference = sparse_attn_reference};
const graph::OpDef sparse_attn_varlen_def{.name = "sparse_attn_varlen",
                                          .attrs = kVarlenAttrs,
                                          .infer = infer_varlen,
                                          .kernel = sparse_attn_varlen_host,
                                          .reference = sparse_attn_varlen_reference};

graph::Value sparse_attn(graph::Emitter& e, const SparseAttnOperands& in, const SparseAttnAttrs& attrs) {
  std::vector<graph::Value> operands{in.q, in.window, in.wcount};
  if (in.selected) operands.insert(operands.end(), {in.selected, in.scount});
  operands.push_back(in.sink);
  return e.emit_one(sparse_attn_def, operands, to_attrs(attrs));
}

graph::Value sparse_attn_varlen(graph::Emitter& e, const SparseAttnVarlenOperands& in, const SparseAttnAttrs& attrs,
                                const PageView& pages) {
  std::vector<graph::Value> operands{in.q, in.window_buf, in.win_index, in.wcount};
  if (in.root) operands.insert(operands.end(), {in.root, in.block_table, in.seq, in.ids, in.scount});
  operands.push_back(in.sink);
  graph::Attrs all = to_attrs(attrs);
  all.set("base", pages.base);
  all.set("rows", pages.rows);
  all.set("row_bytes", pages.row_bytes);
  return e.emit_one(sparse_attn_varlen_def, operands, all);
}

}  // namespace deepinfer::ops
