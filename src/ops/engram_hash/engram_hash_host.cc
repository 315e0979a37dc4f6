#include "base/check.h"
#include "ops/engram_hash/engram_hash.h"
#include "ops/engram_hash/engram_hash_kernels.h"

namespace deepinfer::ops {
namespace {

void row_ids_at(const EngramHash& hash, std::span<const std::int32_t> history, std::int64_t p, std::int64_t* out) {
  bool blocked = false;
  std::int64_t mixed = 0;
  for (std::int64_t s = 0; s < hash.max_ngram; ++s) {
    blocked = blocked || p < s || history[static_cast<std::size_t>(p - s)] == kEngramDead;
    const std::int64_t id = blocked ? hash.pad_class : history[static_cast<std::size_t>(p - s)];
    mixed ^= id * hash.multipliers[static_cast<std::size_t>(s)];
    if (s == 0) continue;
    for (std::int64_t c = (s - 1) * hash.heads; c < s * hash.heads; ++c) {
      const auto column = static_cast<std::size_t>(c);
      out[c] = mixed % hash.primes[column] + hash.offsets[column];
    }
  }
}

}  // namespace

void engram_row_ids(const EngramHash& hash, std::span<const std::int32_t> history, std::int64_t first,
                    std::int64_t count, std::int64_t* out) {
  const auto columns = static_cast<std::size_t>(hash.columns());
  DI_CHECK(hash.primes.size() == columns && hash.offsets.size() == columns &&
               hash.multipliers.size() == static_cast<std::size_t>(hash.max_ngram),
           "{} primes, {} offsets, {} multipliers for {} columns of up to {} ids", hash.primes.size(),
           hash.offsets.size(), hash.multipliers.size(), columns, hash.max_ngram);
  DI_CHECK(first >= 0 && static_cast<std::size_t>(first + count) <= history.size(),
           "positions {} to {} of a history of {}", first, first + count, history.size());
  for (std::int64_t i = 0; i < count; ++i) row_ids_at(hash, history, first + i, out + i * hash.columns());
}

void engram_hash_host(const graph::OpCall& call) {
  const std::vector<std::int64_t>& multipliers = call.attrs.integers("multipliers");
  const std::vector<std::int64_t>& primes = call.attrs.integers("primes");
  const auto max_ngram = static_cast<std::int64_t>(multipliers.size());
  const EngramHash hash{max_ngram,   static_cast<std::int64_t>(primes.size()) / (max_ngram - 1),
                        primes,      call.attrs.integers("offsets"),
                        multipliers, call.attrs.integer("pad_class")};
  const std::int64_t length = call.in[0].type.shape[0];
  const std::int64_t first = call.attrs.integer("first");
  engram_row_ids(hash, {call.in[0].as<std::int32_t>(), static_cast<std::size_t>(length)}, first, length - first,
                 call.out[0].as<std::int64_t>());
}

}  // namespace deepinfer::ops
