// Row ids of the Engram tables: hashes of the last 2, 3, ... max_ngram folded token ids, exact in int64 on the host.
//
// For position p the look-backs t_s = history[p - s] are multiplied by odd constants above 2^32 and combined by XOR;
// the partial XOR after t_i gives the columns of order i + 1, each modulo its own prime. A look-back before the start
// or at a DEAD position (image spans) blocks itself and all longer ones, which then count as the folded pad id.
// Products stay below 2^63 by the choice of the multipliers. Nothing here may pass through 32 bits or a double.
// Source: model.md 4.4, graph.md 7.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace deepinfer::ops {

inline constexpr std::int32_t kEngramDead = -1;  ///< history entry of an image position

/// Constants of one layer (checkpoint::EngramLayout) and of the folded vocabulary.
struct EngramHash {
  std::int64_t max_ngram = 0;             ///< 4: orders 2, 3 and 4
  std::int64_t heads = 0;                 ///< columns of each order
  std::vector<std::int64_t> primes;       ///< [columns], n-major, head-minor
  std::vector<std::int64_t> offsets;      ///< [columns], first table row of each column
  std::vector<std::int64_t> multipliers;  ///< [max_ngram]
  std::int64_t pad_class = 0;             ///< folded id of the pad token

  std::int64_t columns() const { return (max_ngram - 1) * heads; }
};

/// out[i, c] = table row of column c for position first + i, i < count.
/// history  folded ids of the whole sequence from position 0, kEngramDead = image; at least first + count entries
/// out      [count, hash.columns()]
/// CheckFailure when the constants do not fit together or the history is too short.
void engram_row_ids(const EngramHash& hash, std::span<const std::int32_t> history, std::int64_t first,
                    std::int64_t count, std::int64_t* out);

}  // namespace deepinfer::ops
