// Addressing of records in a root, shared by all ops that read or write caches.
#pragma once

#include <span>

#include "ops/shape_rules.h"

namespace deepinfer::ops {

/// The view attributes with the root's extents; `byte` checks every address.
struct RecordLayout {
  RecordLayout(const TensorType& root, const graph::Attrs& attrs, std::int64_t record_size)
      : num_slots(root.shape[0]),
        slot_bytes(root.shape[1]),
        base(attrs.integer("base")),
        rows(attrs.integer("rows")),
        row_bytes(record_size) {}

  /// Byte offset of record (slot, pos) in the root.
  std::int64_t byte(std::int64_t slot, std::int64_t pos) const {
    DI_CHECK(slot >= 0 && slot < num_slots && pos >= 0 && pos < rows, "record ({}, {}) of {} slots with {} rows", slot,
             pos, num_slots, rows);
    return slot * slot_bytes + base + pos * row_bytes;
  }

  std::int64_t num_slots, slot_bytes, base, rows, row_bytes;
};

/// Checks of `infer`: root u8 [A, B], slot and pos s32 [M], known kind, view inside a root row.
inline Status check_view(std::span<const TensorType> in, const graph::Attrs& attrs, std::int64_t row_bytes) {
  const std::string& kind = attrs.word("kind");
  DI_TRY(graph::expect(kind == "swa" || kind == "ca" || kind == "ica" || kind == "ca_state",
                       "kind must be swa, ca, ica or ca_state"));
  DI_TRY(expect_operand(is_a(in[0], DType::kU8, 2), "root", in[0], "u8[A,B]"));
  DI_TRY(expect_operand(is_a(in[1], DType::kS32, 1), "slot", in[1], "s32[M]"));
  DI_TRY(graph::expect_type("pos", in[2], in[1]));
  const std::int64_t base = attrs.integer("base");
  const std::int64_t rows = attrs.integer("rows");
  if (base < 0 || rows < 1 || row_bytes < 1 || base + rows * row_bytes > in[0].shape[1]) {
    return errorf(ErrorCode::kInvalidArgument, "{} records of {} bytes at byte {} do not fit into a row of root {}",
                  rows, row_bytes, base, to_string(in[0]));
  }
  return {};
}

}  // namespace deepinfer::ops
