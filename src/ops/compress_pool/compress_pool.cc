#include "ops/compress_pool/compress_pool.h"

#include "base/error.h"
#include "ops/compress_pool/compress_pool_kernels.h"
#include "ops/registry.h"

namespace deepinfer::ops {
namespace {

using graph::AttrKind;
using graph::expect;
using graph::expect_type;

Status check_token_rows(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(expect(in[0].dtype == DType::kF32 && in[0].shape.rank() == 2, "kv must be f32[T,C]"));
  DI_TRY(expect_type("gate", in[1], in[0]));
  const TensorType& root = in[2];
  const std::int64_t base = attrs.integer("base");
  const std::int64_t rows = attrs.integer("rows");
  const std::int64_t record = 8 * in[0].shape[1];
  if (root.dtype != DType::kU8 || root.shape.rank() != 2 || base < 0 || rows < 1 ||
      base + rows * record > root.shape[1]) {
    return errorf(ErrorCode::kInvalidArgument, "root {} cannot hold {} rows of {} bytes at byte {}", to_string(root),
                  rows, record, base);
  }
  return {};
}

/// Operands [begin, end) are s32 vectors of one length.
Status check_indices(std::span<const TensorType> in, std::size_t begin, std::size_t end) {
  DI_TRY(expect(in[begin].shape.rank() == 1, "index operands must be s32[n]"));
  for (std::size_t i = begin; i < end; ++i) {
    DI_TRY(expect_type("index", in[i], {DType::kS32, in[begin].shape}));
  }
  return {};
}

Result<std::vector<TensorType>> infer(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 7, 7));
  DI_TRY(check_token_rows(in, attrs));
  DI_TRY(expect_type("slot", in[3], {DType::kS32, {in[0].shape[0]}}));
  DI_TRY(check_indices(in, 3, 7));
  return std::vector{TensorType{DType::kBF16, in[0].shape}, in[2]};
}

Result<std::vector<TensorType>> infer_varlen(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 10, 10));
  DI_TRY(check_token_rows(in, attrs));
  DI_TRY(check_indices(in, 3, 5));
  DI_TRY(check_indices(in, 5, 7));
  DI_TRY(check_indices(in, 7, 10));
  return std::vector{TensorType{DType::kBF16, {in[5].shape[0], in[0].shape[1]}}, in[2]};
}

Result<std::vector<TensorType>> infer_store(std::span<const TensorType> in, const graph::Attrs& attrs) {
  DI_TRY(graph::expect_operands(in, 6, 6));
  DI_TRY(check_token_rows(in, attrs));
  DI_TRY(check_indices(in, 3, 6));
  return std::vector{in[2]};
}

const graph::AttrDecl kAttrs[] = {{"owner", AttrKind::kInt}, {"base", AttrKind::kInt}, {"rows", AttrKind::kInt}};
const graph::InPlace kPoolInPlace[] = {{.operand = 2, .result = 1}};
const graph::InPlace kStoreInPlace[] = {{.operand = 2, .result = 0}};

graph::Attrs to_attrs(const RingView& ring) {
  return {{"owner", ring.owner}, {"base", ring.base}, {"rows", ring.rows}};
}

}  // namespace

const graph::OpDef compress_pool_def{.name = "compress_pool",
                                     .attrs = kAttrs,
                                     .infer = infer,
                                     .kernel = compress_pool_host,
                                     .reference = compress_pool_reference,
                                     .in_place = kPoolInPlace};
const graph::OpDef compress_pool_varlen_def{.name = "compress_pool_varlen",
                                            .attrs = kAttrs,
                                            .infer = infer_varlen,
                                            .kernel = compress_pool_varlen_host,
                                            .reference = compress_pool_varlen_reference,
                                            .in_place = kPoolInPlace};
const graph::OpDef compress_store_def{.name = "compress_store",
                                      .attrs = kAttrs,
                                      .infer = infer_store,
                                      .kernel = compress_store_host,
                                      .reference = compress_store_reference,
                                      .in_place = kStoreInPlace};

PoolResult compress_pool(graph::Emitter& e, const CompressPoolOperands& in, const RingView& ring) {
  const std::vector<graph::Value> out =
      e.emit(compress_pool_def, std::array{in.kv, in.gate, in.root, in.slot, in.pos, in.prev_pos, in.odd},
             to_attrs(ring));
  return {out[0], out[1]};
}

PoolResult compress_pool_varlen(graph::Emitter& e, const CompressPoolVarlenOperands& in, const RingView& ring) {
  const std::vector<graph::Value> out =
      e.emit(compress_pool_varlen_def,
             std::array{in.kv, in.gate, in.root, in.hist_slot, in.hist_pos, in.first, in.second, in.store_row,
                        in.store_slot, in.store_pos},
             to_attrs(ring));
  return {out[0], out[1]};
}

graph::Value compress_store(graph::Emitter& e, const CompressStoreOperands& in, const RingView& ring) {
  return e.emit_one(compress_store_def,
                    std::array{in.kv, in.gate, in.root, in.store_row, in.store_slot, in.store_pos}, to_attrs(ring));
}

}  // namespace deepinfer::ops
