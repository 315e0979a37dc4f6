#include "ops/engram_hash/engram_hash.h"

#include "base/error.h"
#include "ops/engram_hash/engram_hash_kernels.h"
#include "ops/registry.h"
#include "ops/shape_rules.h"

namespace deepinfer::ops {
namespace {

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 1, 1));
  DI_TRY(expect_operand(is_a(in[0], DType::kS32, 1), "history", in[0], "s32[N]"));
  const std::int64_t first = attrs.integer("first");
  if (first < 0 || first >= in[0].shape[0]) {
    return errorf(ErrorCode::kInvalidArgument, "first is {}, expected 0 to {}", first, in[0].shape[0] - 1);
  }
  const std::size_t columns = attrs.integers("primes").size();
  const std::size_t orders = attrs.integers("multipliers").size() - 1;
  if (columns == 0 || orders == 0 || columns % orders != 0 || attrs.integers("offsets").size() != columns) {
    return errorf(ErrorCode::kInvalidArgument, "{} primes and {} offsets, expected equal multiples of {} n-gram orders",
                  columns, attrs.integers("offsets").size(), orders);
  }
  return std::vector{TensorType{DType::kS64, {in[0].shape[0] - first, static_cast<std::int64_t>(columns)}}};
}

const graph::AttrDecl kAttrs[] = {{"first", graph::AttrKind::kInt},
                                  {"primes", graph::AttrKind::kInts},
                                  {"offsets", graph::AttrKind::kInts},
                                  {"multipliers", graph::AttrKind::kInts},
                                  {"pad_class", graph::AttrKind::kInt}};

}  // namespace

const graph::OpDef engram_hash_def{.name = "engram_hash",
                                   .level = graph::OpLevel::kHost,
                                   .attrs = kAttrs,
                                   .infer = infer,
                                   .kernel = engram_hash_host,
                                   .reference = engram_hash_reference,
                                   .no_lowering = "host-only op"};

}  // namespace deepinfer::ops
