// Reads Engram table rows on the host: e4m3fn codes times ue8m0 block scales, exact in bf16.
//
// The table is the checkpoint's mapping (190 GiB in the release), so only the rows asked for are touched: 264 bytes
// each. OCP values, whatever the device profile.   Source: model.md 4.5, checkpoint.md, graph.md 7.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/bf16.h"

namespace deepinfer::ops {

/// One layer's table: codes u8 [rows, dim] (e4m3fn) and scales u8 [rows, dim / 32] (ue8m0); dim % 32 == 0.
struct EngramTable {
  const std::uint8_t* codes = nullptr;
  const std::uint8_t* scales = nullptr;
  std::int64_t rows = 0;
  std::int64_t dim = 0;
};

/// out[i * dim + d] = table[ids[i], d]: with ids [count, columns] this is [count, columns * dim].
/// CheckFailure when an id lies outside [0, rows).
void engram_fetch(const EngramTable& table, std::span<const std::int64_t> ids, BF16* out);

}  // namespace deepinfer::ops
