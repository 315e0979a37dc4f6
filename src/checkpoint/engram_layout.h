// Constants of the Engram hash: primes, row offsets, multipliers. Source: model.md 4.2 and 4.3.
//
// A table row is addressed by n-gram hashes modulo distinct primes, one prime a column (n-major, head-minor). The
// multipliers come from a PCG64 generator with NumPy's seeding; they exceed 2^53, so they never pass through a double.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

struct EngramShape {
  std::int64_t vocab_size = 0;             ///< prime start (engram_vocab_size)
  std::int64_t max_ngram = 0;              ///< 4: orders 2, 3 and 4
  std::int64_t num_heads = 0;              ///< columns of each order
  std::int64_t compressed_vocab_size = 0;  ///< classes of the folded token map
  std::vector<std::int64_t> layers;        ///< layer ids, ascending

  std::int64_t columns() const { return (max_ngram - 1) * num_heads; }
};

struct EngramLayout {
  std::int64_t layer = 0;
  std::vector<std::int64_t> primes;       ///< [columns], n-major
  std::vector<std::int64_t> offsets;      ///< [columns], exclusive prefix sum of the primes
  std::vector<std::int64_t> multipliers;  ///< [max_ngram]
  std::int64_t rows = 0;                  ///< sum of the primes
};

/// Layouts of all layers; a prime is used once over all layers.
/// Errors: kInvalidArgument when a count is outside 2 <= max_ngram <= 16, 1 <= num_heads, vocab_size and
/// compressed_vocab_size >= 1, vocab_size < 2^31, columns x layers <= 4096.
Result<std::vector<EngramLayout>> engram_layouts(const EngramShape& shape);

/// PCG64 XSL-RR 128/64 seeded as numpy.random.default_rng(seed).
class Pcg64 {
 public:
  explicit Pcg64(std::uint64_t seed);
  std::uint64_t next();
  /// Uniform in [0, bound), bound >= 1 (Lemire's method).
  std::uint64_t bounded(std::uint64_t bound);
  /// The four words that the seed expands to (SeedSequence.generate_state(4, uint64)).
  static std::array<std::uint64_t, 4> seed_words(std::uint64_t seed);

 private:
  __extension__ using Word128 = unsigned __int128;  // the extension is named once; -Wpedantic is on
  void step();

  Word128 state_ = 0;
  Word128 increment_ = 0;
};

}  // namespace deepinfer::checkpoint
