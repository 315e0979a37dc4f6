#include "ops/quant_act/quant_act.h"

#include "ops/quant_act/quant_act_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "tensor/numeric/range.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  const auto format = quant_format(attrs);
  DI_TRY(graph::expect(format.has_value(), kQuantFormats));
  const bool fits =
      in[0].dtype == DType::kBF16 && in[0].shape.rank() >= 1 && in[0].shape.back() % quant_block(*format) == 0;
  DI_TRY(expect_operand(fits, "x", in[0], "bf16[..., N] with N a multiple of the block"));
  const std::int64_t n = in[0].shape.back();
  return std::vector{with_last(DType::kU8, in[0].shape, code_bytes(*format, n)),
                     with_last(DType::kU8, in[0].shape, n / quant_block(*format))};
}

const graph::AttrDecl kAttrs[] = {{"fmt", graph::AttrKind::kWord, graph::Word{"e4m3"}},
                                  {"block", graph::AttrKind::kInt, std::int64_t{32}},
                                  {"max", graph::AttrKind::kFloat, double{numeric::kE4M3FnMax}},
                                  {"scale", graph::AttrKind::kWord, graph::Word{"ue8m0"}}};

}  // namespace

const graph::OpDef quant_act_def{
    .name = "quant_act", .attrs = kAttrs, .infer = infer, .kernel = quant_act_host, .reference = quant_act_reference};

graph::Attrs format_attrs(QuantFormat format) {
  return {{"fmt", graph::Word{format == QuantFormat::kAct32 ? "e4m3" : "e2m1"}},
          {"block", quant_block(format)},
          {"scale", graph::Word{format == QuantFormat::kFp4x16 ? "e4m3" : "ue8m0"}}};
}

Quantised quant_act(graph::Emitter& e, const graph::Value& x, QuantFormat format, double max) {
  graph::Attrs attrs = format_attrs(format);
  attrs.set("max", max);
  const auto results = e.emit(quant_act_def, std::array{x}, attrs);
  return {results[0], results[1]};
}

}  // namespace deepinfer::ops
