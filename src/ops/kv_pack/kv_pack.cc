#include "ops/kv_pack/kv_pack.h"

#include "ops/kv_pack/kv_pack_kernels.h"
#include "ops/quant_act/quant_format.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "tensor/numeric/range.h"

namespace deepinfer::ops {
namespace {

constexpr std::string_view kKinds = "kind must be swa, ca or ica";

Result<std::vector<TensorType>> infer_pack(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  const auto format = cache_format(attrs.word("kind"));
  DI_TRY(graph::expect(format.has_value(), kKinds));
  DI_TRY(expect_operand(is_a(in[0], DType::kBF16, 2) && in[0].shape[1] % quant_block(*format) == 0, "x", in[0],
                        "bf16[M,N] with N a multiple of the block"));
  return std::vector{TensorType{DType::kU8, {in[0].shape[0], record_bytes(*format, in[0].shape[1])}}};
}

Result<std::vector<TensorType>> infer_unpack(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  const auto format = cache_format(attrs.word("kind"));
  DI_TRY(graph::expect(format.has_value(), kKinds));
  const std::int64_t width = attrs.integer("width");
  DI_TRY(graph::expect(width > 0 && width % quant_block(*format) == 0, "width must be a multiple of the block"));
  DI_TRY(expect_operand(is_a(in[0], DType::kU8, 2) && in[0].shape[1] == record_bytes(*format, width), "rows", in[0],
                        "u8[M,row_bytes] of the kind and width"));
  return std::vector{TensorType{DType::kBF16, {in[0].shape[0], width}}};
}

const graph::AttrDecl kPackAttrs[] = {{"kind", graph::AttrKind::kWord},
                                      {"max", graph::AttrKind::kFloat, double{numeric::kE4M3FnMax}}};
const graph::AttrDecl kUnpackAttrs[] = {{"kind", graph::AttrKind::kWord}, {"width", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef kv_pack_def{.name = "kv_pack",
                               .attrs = kPackAttrs,
                               .infer = infer_pack,
                               .kernel = kv_pack_host,
                               .reference = kv_pack_reference};
const graph::OpDef kv_unpack_def{.name = "kv_unpack",
                                 .attrs = kUnpackAttrs,
                                 .infer = infer_unpack,
                                 .kernel = kv_unpack_host,
                                 .reference = kv_unpack_reference};

graph::Value kv_pack(graph::Emitter& e, const graph::Value& x, std::string_view kind, double max) {
  return e.emit_one(kv_pack_def, std::array{x}, {{"kind", graph::Word{std::string(kind)}}, {"max", max}});
}

graph::Value kv_unpack(graph::Emitter& e, const graph::Value& rows, std::string_view kind, std::int64_t width) {
  return e.emit_one(kv_unpack_def, std::array{rows}, {{"kind", graph::Word{std::string(kind)}}, {"width", width}});
}

}  // namespace deepinfer::ops
