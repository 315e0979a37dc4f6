// Where the records of one owner lie inside a paged root: what index_score and sparse_attn_varlen read in place.
//
// root u8[A,B]: row `slot` is one page; record j of a sequence is in page table[j / rows], at byte
// base + (j % rows) * row_bytes of it. Source: graph.md 4.2, kernels-neuron.md 5.1.
#pragma once

#include <cstdint>

#include "base/check.h"
#include "base/error.h"
#include "graph/op_def.h"

namespace deepinfer::ops {

struct PageView {
  std::int64_t base = 0;       ///< byte of record 0 inside a page
  std::int64_t rows = 0;       ///< records a page holds
  std::int64_t row_bytes = 0;  ///< bytes of one record
};

inline PageView page_view(const graph::Attrs& attrs) {
  return {attrs.integer("base"), attrs.integer("rows"), attrs.integer("row_bytes")};
}

/// Error unless `root` is u8[A,B], holds the view's rows and a record has `row_bytes` bytes.
inline Status check_page_view(const TensorType& root, const PageView& view, std::int64_t row_bytes) {
  if (view.row_bytes != row_bytes) {
    return errorf(ErrorCode::kInvalidArgument, "row_bytes = {}, a record has {}", view.row_bytes, row_bytes);
  }
  if (root.dtype != DType::kU8 || root.shape.rank() != 2 || view.base < 0 || view.rows < 1 ||
      view.base + view.rows * view.row_bytes > root.shape[1]) {
    return errorf(ErrorCode::kInvalidArgument, "root {} cannot hold {} rows of {} bytes at byte {}", to_string(root),
                  view.rows, view.row_bytes, view.base);
  }
  return {};
}

/// A root together with a view; `record` addresses by the page table of one sequence.
class PagedRecords {
 public:
  PagedRecords(const ConstTensorRef& root, const PageView& view)
      : data_(root.as<std::uint8_t>()), pages_(root.type.shape[0]), page_bytes_(root.type.shape[1]), view_(view) {}

  const std::uint8_t* record(const std::int32_t* table, std::int64_t j) const {
    const std::int64_t slot = table[j / view_.rows];
    DI_CHECK(slot >= 0 && slot < pages_, "record {} lies in page {} of {}", j, slot, pages_);
    return data_ + slot * page_bytes_ + view_.base + (j % view_.rows) * view_.row_bytes;
  }
  const PageView& view() const { return view_; }

 private:
  const std::uint8_t* data_;
  std::int64_t pages_;
  std::int64_t page_bytes_;
  PageView view_;
};

}  // namespace deepinfer::ops
