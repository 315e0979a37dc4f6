#include "ops/dequant/dequant.h"

#include "ops/dequant/dequant_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 2, 2));
  const auto format = quant_format(attrs);
  DI_TRY(graph::expect(format.has_value(), kQuantFormats));
  DI_TRY(expect_operand(is_bytes(in[0]) && in[0].shape.rank() >= 1, "codes", in[0], "u8[..., code bytes]"));
  const std::int64_t n = in[0].shape.back() * (*format == QuantFormat::kAct32 ? 1 : 2);
  const TensorType scales = with_last(DType::kU8, in[0].shape, n / quant_block(*format));
  DI_TRY(expect_operand(is_bytes(in[1]) && in[1].shape == scales.shape && n % quant_block(*format) == 0, "scales",
                        in[1], to_string(scales)));
  return std::vector{with_last(DType::kBF16, in[0].shape, n)};
}

const graph::AttrDecl kAttrs[] = {{"fmt", graph::AttrKind::kWord, graph::Word{"e4m3"}},
                                  {"block", graph::AttrKind::kInt, std::int64_t{32}},
                                  {"scale", graph::AttrKind::kWord, graph::Word{"ue8m0"}}};

}  // namespace

const graph::OpDef dequant_def{
    .name = "dequant", .attrs = kAttrs, .infer = infer, .kernel = dequant_host, .reference = dequant_reference};

graph::Value dequant(graph::Emitter& e, const Quantised& x, QuantFormat format) {
  return e.emit_one(dequant_def, std::array{x.codes, x.scales}, format_attrs(format));
}

}  // namespace deepinfer::ops
