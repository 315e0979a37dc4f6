#include "checkpoint/engram_layout.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_set>

#include "base/error.h"

namespace deepinfer::checkpoint {
namespace {

// __int128 is an extension; __extension__ keeps -Wpedantic quiet.
__extension__ using u128 = unsigned __int128;

constexpr u128 make_u128(std::uint64_t high, std::uint64_t low) { return (u128{high} << 64) | low; }

bool is_prime(std::int64_t n) {
  if (n < 4) return n >= 2;
  if (n % 2 == 0) return false;
  for (std::int64_t d = 3; d * d <= n; d += 2) {
    if (n % d == 0) return false;
  }
  return true;
}

// NumPy's SeedSequence over the little-endian 32-bit words of a 64-bit seed.
class SeedPool {
 public:
  explicit SeedPool(std::uint64_t seed) {
    const std::uint32_t words[2] = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
    for (std::size_t i = 0; i < 4; ++i) pool_[i] = hashmix(i < 2 ? words[i] : 0);
    for (std::size_t source = 0; source < 4; ++source) {
      for (std::size_t target = 0; target < 4; ++target) {
        if (source != target) pool_[target] = mix(pool_[target], hashmix(pool_[source]));
      }
    }
  }

  std::array<std::uint64_t, 4> state() const {
    std::array<std::uint32_t, 8> words{};
    std::uint32_t hash = 0x8b51f9ddU;
    for (std::size_t i = 0; i < 8; ++i) {
      std::uint32_t v = pool_[i % 4] ^ hash;
      hash *= 0x58f38dedU;
      v *= hash;
      words[i] = v ^ (v >> 16);
    }
    std::array<std::uint64_t, 4> out{};
    for (std::size_t i = 0; i < 4; ++i) out[i] = words[2 * i] | (std::uint64_t{words[2 * i + 1]} << 32);
    return out;
  }

 private:
  std::uint32_t hashmix(std::uint32_t v) {
    v ^= hash_;
    hash_ *= 0x931e8875U;
    v *= hash_;
    return v ^ (v >> 16);
  }
  static std::uint32_t mix(std::uint32_t x, std::uint32_t y) {
    const std::uint32_t r = 0xca01f9ddU * x - 0x4973f715U * y;
    return r ^ (r >> 16);
  }

  std::uint32_t hash_ = 0x43b0d7e5U;
  std::array<std::uint32_t, 4> pool_{};
};

Status check_shape(const EngramShape& shape) {
  constexpr std::int64_t kMaxColumns = 4096;
  const auto layers = static_cast<std::int64_t>(shape.layers.size());
  if (shape.max_ngram < 2 || shape.max_ngram > 16 || shape.num_heads < 1 || shape.num_heads > kMaxColumns ||
      shape.columns() * std::max<std::int64_t>(layers, 1) > kMaxColumns) {
    return errorf(ErrorCode::kInvalidArgument,
                  "engram: n-gram size {}, {} heads, {} layers; accepted: 2 to 16, at least 1 head, at most {} columns",
                  shape.max_ngram, shape.num_heads, layers, kMaxColumns);
  }
  if (shape.vocab_size < 1 || shape.vocab_size >= (std::int64_t{1} << 31) || shape.compressed_vocab_size < 1) {
    return errorf(ErrorCode::kInvalidArgument, "engram: prime start {} (1 to 2^31 - 1), folded vocabulary {} (from 1)",
                  shape.vocab_size, shape.compressed_vocab_size);
  }
  return {};
}

std::vector<std::int64_t> multipliers(std::int64_t layer, const EngramShape& shape) {
  const std::int64_t bound =
      std::max<std::int64_t>(1, std::numeric_limits<std::int64_t>::max() / shape.compressed_vocab_size / 2);
  Pcg64 generator(10007U * static_cast<std::uint64_t>(layer));
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < shape.max_ngram; ++i) {
    out.push_back(2 * static_cast<std::int64_t>(generator.bounded(static_cast<std::uint64_t>(bound))) + 1);
  }
  return out;
}

}  // namespace

Result<std::vector<EngramLayout>> engram_layouts(const EngramShape& shape) {
  DI_TRY(check_shape(shape));
  std::unordered_set<std::int64_t> seen;
  std::vector<EngramLayout> out;
  for (const std::int64_t layer : shape.layers) {
    EngramLayout layout;
    layout.layer = layer;
    for (std::int64_t order = 2; order <= shape.max_ngram; ++order) {
      std::int64_t current = shape.vocab_size - 1;
      for (std::int64_t head = 0; head < shape.num_heads; ++head) {
        do {
          ++current;
        } while (seen.contains(current) || !is_prime(current));
        seen.insert(current);
        layout.primes.push_back(current);
        layout.offsets.push_back(layout.rows);
        layout.rows += current;
      }
    }
    layout.multipliers = multipliers(layer, shape);
    out.push_back(std::move(layout));
  }
  return out;
}

std::array<std::uint64_t, 4> Pcg64::seed_words(std::uint64_t seed) { return SeedPool(seed).state(); }

Pcg64::Pcg64(std::uint64_t seed) {
  const auto words = seed_words(seed);
  increment_ = 2 * make_u128(words[2], words[3]) + 1;
  step();
  state_ += make_u128(words[0], words[1]);
  step();
}

void Pcg64::step() {
  constexpr u128 kMultiplier = make_u128(2549297995355413924U, 4865540595714422341U);
  state_ = state_ * kMultiplier + increment_;
}

std::uint64_t Pcg64::next() {
  step();
  const auto folded = static_cast<std::uint64_t>(state_ >> 64) ^ static_cast<std::uint64_t>(state_);
  return std::rotr(folded, static_cast<int>(state_ >> 122));
}

std::uint64_t Pcg64::bounded(std::uint64_t bound) {
  u128 product = u128{next()} * bound;
  auto low = static_cast<std::uint64_t>(product);
  if (low < bound) {
    const std::uint64_t threshold = (0 - bound) % bound;
    while (low < threshold) {
      product = u128{next()} * bound;
      low = static_cast<std::uint64_t>(product);
    }
  }
  return static_cast<std::uint64_t>(product >> 64);
}

}  // namespace deepinfer::checkpoint
