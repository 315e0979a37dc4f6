#include "ops/engram_fetch/engram_fetch.h"

#include "ops/engram_fetch/engram_fetch_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"
#include "tensor/numeric/quantise.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs&) {
  DI_TRY(graph::expect_operands(in, 3, 3));
  DI_TRY(expect_operand(is_bytes(in[0], 2) && in[0].shape[1] % numeric::kAct32Block == 0, "table", in[0],
                        "u8[rows,dim] with dim a multiple of 32"));
  const Shape scales{in[0].shape[0], in[0].shape[1] / numeric::kAct32Block};
  DI_TRY(expect_operand(is_bytes(in[1]) && in[1].shape == scales, "scales", in[1], "u8[rows,dim/32]"));
  DI_TRY(expect_operand(is_a(in[2], DType::kS64, 2), "ids", in[2], "s64[count,columns]"));
  return std::vector{TensorType{DType::kBF16, {in[2].shape[0], in[2].shape[1] * in[0].shape[1]}}};
}

}  // namespace

const graph::OpDef engram_fetch_def{.name = "engram_fetch",
                                    .level = graph::OpLevel::kHost,
                                    .infer = infer,
                                    .kernel = engram_fetch_host,
                                    .reference = engram_fetch_reference,
                                    .no_lowering = "host-only op"};

}  // namespace deepinfer::ops
