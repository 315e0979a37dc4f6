#include "ops/index_score/index_score.h"

#include "base/error.h"
#include "ops/index_score/index_score_kernels.h"
#include "ops/registry.h"

namespace deepinfer::ops {
namespace {

using graph::AttrKind;
using graph::expect;
using graph::expect_type;

bool is_s32_matrix(const TensorType& type) { return type.dtype == DType::kS32 && type.shape.rank() == 2; }

Result<std::vector<TensorType>> infer_form(std::span<const TensorType> in, const graph::Attrs& attrs, bool varlen) {
  const std::size_t least = varlen ? 7 : 6;
  DI_TRY(expect(in.size() == least || in.size() == least + 2, varlen ? "expected 7 or 9 operands"
                                                                     : "expected 6 or 8 operands"));
  const IndexOperandPositions at = index_positions(in.size(), varlen);
  const auto operand = [&](int i) -> const TensorType& { return in[static_cast<std::size_t>(i)]; };
  const std::int64_t heads = attrs.integer("heads");
  DI_TRY(expect(heads >= 1 && attrs.integer("block") >= 1, "heads and block must be at least 1"));
  DI_TRY(expect(in[0].dtype == DType::kU8 && in[0].shape.rank() == 2 && in[0].shape[1] % (heads * 16) == 0,
                "q must be u8[T, Hi*Ci/2] with Ci % 32 = 0"));
  const std::int64_t tokens = in[0].shape[0];
  const std::int64_t width = in[0].shape[1] * 2 / heads;
  DI_TRY(expect_type("qs", in[1], {DType::kU8, {tokens, heads * width / 32}}));
  DI_TRY(check_page_view(in[2], page_view(attrs), width / 2 + width / 32));
  const TensorType& table = operand(at.block_table);
  DI_TRY(expect(is_s32_matrix(table) && (varlen || table.shape[0] == tokens), "block_table must be s32[T,Bt]"));
  if (varlen) DI_TRY(expect_type("seq", operand(at.seq), {DType::kS32, {tokens}}));
  DI_TRY(expect_type("weights", operand(at.weights), {DType::kBF16, {tokens, heads}}));
  DI_TRY(expect_type("visible", operand(at.visible), {DType::kS32, {tokens}}));
  if (at.candidates >= 0) {
    DI_TRY(expect(is_s32_matrix(operand(at.candidates)) && operand(at.candidates).shape[0] == tokens,
                  "candidates must be s32[T,Nb]"));
    DI_TRY(expect_type("ccount", operand(at.ccount), {DType::kS32, {tokens}}));
  }
  const std::string& precision = attrs.word("precision");
  DI_TRY(expect(precision == "official" || precision == "fp32" || precision == "bf16_fma4",
                "precision must be official, fp32 or bf16_fma4"));
  const DType out = precision == "fp32" ? DType::kF32 : DType::kBF16;
  return std::vector{TensorType{out, {tokens, table.shape[1] * attrs.integer("rows")}}};
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  return infer_form(in, attrs, false);
}
Result<std::vector<TensorType>> infer_varlen(std::span<const TensorType> in, const graph::Attrs& attrs) {
  return infer_form(in, attrs, true);
}

const graph::AttrDecl kAttrs[] = {{"heads", AttrKind::kInt},
                                  {"base", AttrKind::kInt},
                                  {"rows", AttrKind::kInt},
                                  {"row_bytes", AttrKind::kInt},
                                  {"precision", AttrKind::kWord, graph::Word{"official"}},
                                  {"block", AttrKind::kInt, std::int64_t{8}}};

graph::Word precision_word(IndexPrecision precision) {
  switch (precision) {
    case IndexPrecision::kF32: return {"fp32"};
    case IndexPrecision::kBf16Fma4: return {"bf16_fma4"};
    case IndexPrecision::kOfficial: break;
  }
  return {"official"};
}

graph::Value emit(graph::Emitter& e, const graph::OpDef& op, const IndexScoreOperands& in,
                  const IndexScoreAttrs& attrs) {
  std::vector<graph::Value> operands{in.q, in.qs, in.root, in.block_table};
  if (in.seq) operands.push_back(in.seq);
  operands.insert(operands.end(), {in.weights, in.visible});
  if (in.candidates) operands.insert(operands.end(), {in.candidates, in.ccount});
  return e.emit_one(op, operands,
                    {{"heads", attrs.heads},
                     {"base", attrs.pages.base},
                     {"rows", attrs.pages.rows},
                     {"row_bytes", attrs.pages.row_bytes},
                     {"precision", precision_word(attrs.precision)},
                     {"block", attrs.block}});
}

}  // namespace

const graph::OpDef index_score_def{.name = "index_score",
                                   .attrs = kAttrs,
                                   .infer = infer,
                                   .kernel = index_score_host,
                                   .reference = index_score_reference};
const graph::OpDef index_score_varlen_def{.name = "index_score_varlen",
                                          .attrs = kAttrs,
                                          .infer = infer_varlen,
                                          .kernel = index_score_varlen_host,
                                          .reference = index_score_varlen_reference};

graph::Value index_score(graph::Emitter& e, const IndexScoreOperands& in, const IndexScoreAttrs& attrs) {
  DI_CHECK(!in.seq, "index_score has no operand seq; {} tokens", in.q.shape()[0]);
  return emit(e, index_score_def, in, attrs);
}

graph::Value index_score_varlen(graph::Emitter& e, const IndexScoreOperands& in, const IndexScoreAttrs& attrs) {
  return emit(e, index_score_varlen_def, in, attrs);
}

}  // namespace deepinfer::ops
