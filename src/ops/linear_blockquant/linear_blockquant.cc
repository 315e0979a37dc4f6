#include "ops/linear_blockquant/linear_blockquant.h"

#include "ops/linear_blockquant/linear_blockquant_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Status check_attrs(const graph::Attrs& attrs) {
  const bool fp4 = attrs.word("wfmt") == "e2m1";
  const std::int64_t kb = attrs.integer("kb");
  const std::int64_t nb = attrs.integer("nb");
  const std::string& order = attrs.word("order");
  DI_TRY(graph::expect(fp4 || attrs.word("wfmt") == "e4m3", "wfmt must be e4m3 or e2m1"));
  DI_TRY(graph::expect(fp4 ? kb == 32 && nb == 1 : kb >= 32 && kb % 32 == 0 && nb >= 1,
                       "kb must be a multiple of 32 and nb >= 1; for e2m1 kb = 32 and nb = 1"));
  DI_TRY(graph::expect(order == "v16" || order == "reference_blocks", "order must be v16 or reference_blocks"));
  return graph::expect(attrs.dtype("out") == DType::kBF16 || attrs.dtype("out") == DType::kF32,
                       "out must be bf16 or f32");
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 4, 4));
  DI_TRY(check_attrs(attrs));
  const std::int64_t kb = attrs.integer("kb");
  DI_TRY(expect_operand(is_bytes(in[0], 2) && in[0].shape[1] % kb == 0, "codes", in[0],
                        "u8[T,K] with K a multiple of kb"));
  const std::int64_t num_tokens = in[0].shape[0];
  const std::int64_t k = in[0].shape[1];
  DI_TRY(expect_operand(is_bytes(in[1]) && in[1].shape == Shape{num_tokens, k / 32}, "scales", in[1], "u8[T,K/32]"));
  const std::int64_t row_bytes = attrs.word("wfmt") == "e2m1" ? k / 2 : k;
  DI_TRY(expect_operand(is_bytes(in[2], 2) && in[2].shape[1] == row_bytes, "w", in[2],
                        "bytes [N,K] (e4m3) or [N,K/2] (e2m1)"));
  const std::int64_t n = in[2].shape[0];
  DI_TRY(expect_operand(is_bytes(in[3]) && in[3].shape == Shape{ceil_div(n, attrs.integer("nb")), k / kb}, "ws", in[3],
                        "bytes [ceil(N/nb),K/kb]"));
  return std::vector{TensorType{attrs.dtype("out"), {num_tokens, n}}};
}

const graph::AttrDecl kAttrs[] = {{"wfmt", graph::AttrKind::kWord},
                                  {"kb", graph::AttrKind::kInt, std::int64_t{32}},
                                  {"nb", graph::AttrKind::kInt, std::int64_t{32}},
                                  {"out", graph::AttrKind::kDType, DType::kBF16},
                                  {"order", graph::AttrKind::kWord, graph::Word{"v16"}}};

}  // namespace

const graph::OpDef linear_blockquant_def{.name = "linear_blockquant",
                                         .attrs = kAttrs,
                                         .infer = infer,
                                         .kernel = linear_blockquant_host,
                                         .reference = linear_blockquant_reference};

graph::Value linear_blockquant(graph::Emitter& e, const Quantised& x, const BlockWeight& weight,
                               const LinearOptions& options) {
  return e.emit_one(
      linear_blockquant_def, std::array{x.codes, x.scales, weight.w, weight.ws},
      {{"wfmt", graph::Word{weight.format == WeightFormat::kE4M3 ? "e4m3" : "e2m1"}},
       {"kb", weight.kb},
       {"nb", weight.nb},
       {"out", options.out},
       {"order", graph::Word{options.order == BlockOrder::kV16 ? "v16" : "reference_blocks"}}});
}

}  // namespace deepinfer::ops
