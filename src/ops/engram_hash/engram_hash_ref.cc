#include "ops/engram_hash/engram_hash_kernels.h"

namespace deepinfer::ops {
namespace {

/// Folded id that look-back s of position p stands for.
std::int64_t look_back(const std::int32_t* history, std::int64_t p, std::int64_t s, std::int64_t pad) {
  for (std::int64_t back = 0; back <= s; ++back) {
    if (back > p || history[p - back] < 0) return pad;
  }
  return history[p - s];
}

/// One bit of a * b < 2^63, by shifting and adding.
std::int64_t bit(std::int64_t a, std::int64_t b, int position) {
  std::uint64_t product = 0;
  for (int i = 0; i < 63; ++i) {
    if ((a >> i & 1) != 0) product += static_cast<std::uint64_t>(b) << i;
  }
  return static_cast<std::int64_t>(product >> position & 1);
}

}  // namespace

void engram_hash_reference(const graph::OpCall& call) {
  const std::vector<std::int64_t>& multipliers = call.attrs.integers("multipliers");
  const std::vector<std::int64_t>& primes = call.attrs.integers("primes");
  const auto columns = static_cast<std::int64_t>(primes.size());
  const std::int64_t heads = columns / (static_cast<std::int64_t>(multipliers.size()) - 1);
  const auto* history = call.in[0].as<std::int32_t>();
  for (std::int64_t i = 0; i < call.out[0].type.shape[0]; ++i) {
    const std::int64_t p = call.attrs.integer("first") + i;
    for (std::int64_t c = 0; c < columns; ++c) {
      const std::int64_t prime = primes[static_cast<std::size_t>(c)];
      std::int64_t row = 0;  // the XOR, bit by bit from the top, reduced on the way
      for (int position = 62; position >= 0; --position) {
        std::int64_t parity = 0;
        for (std::int64_t s = 0; s <= c / heads + 1; ++s) {
          const std::int64_t id = look_back(history, p, s, call.attrs.integer("pad_class"));
          parity ^= bit(id, multipliers[static_cast<std::size_t>(s)], position);
        }
        row = (2 * row + parity) % prime;
      }
      call.out[0].as<std::int64_t>()[i * columns + c] =
          row + call.attrs.integers("offsets")[static_cast<std::size_t>(c)];
    }
  }
}

}  // namespace deepinfer::ops
