// V16, the summation order of every fp8, bf16 and fp32 product: sixteen fp32 fma chains and a fixed tree. These are the
// reference forms, for tests and short vectors; hot loops are in ops/isa with the same bits. Source: numerics.md 5.2.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstdint>

namespace deepinfer::numeric {

/// Which columns a chain c = 8 e + i takes: the order in which byte-shift decoding of a stored row yields them.
enum class ColumnMap : std::uint8_t {
  kE4M3,  ///< blocks of 32: 4 i + e, then 4 i + e + 2
  kBf16,  ///< blocks of 16: 2 i + e
  kF32,   ///< blocks of 16: 8 e + i
};

/// Columns a row is padded to with zeros.
constexpr std::int64_t v16_block(ColumnMap map) { return map == ColumnMap::kE4M3 ? 32 : 16; }

/// Chain of column k.
constexpr int v16_chain(ColumnMap map, std::int64_t k) {
  const int j = static_cast<int>(k % v16_block(map));
  switch (map) {
    case ColumnMap::kE4M3: return 8 * (j & 1) + j / 4;
    case ColumnMap::kBf16: return 8 * (j & 1) + j / 2;
    case ColumnMap::kF32: break;
  }
  return j;
}

/// The sum of 8 lanes: u, v, result of the tree.
constexpr float tree8(const float* t) {
  const float u0 = t[0] + t[4];
  const float u1 = t[1] + t[5];
  const float u2 = t[2] + t[6];
  const float u3 = t[3] + t[7];
  return (u0 + u2) + (u1 + u3);
}

/// The sum of the 16 chains.
constexpr float tree16(const float* chains) {
  std::array<float, 8> t{};
  for (std::size_t i = 0; i < 8; ++i) t[i] = chains[i] + chains[i + 8];
  return tree8(t.data());
}

/// V16 of x(k) * w(k), k = 0..n-1, chains from +0: acc = fma(w, x, acc). x and w are callables k -> float.
template <ColumnMap kMap, std::invocable<std::int64_t> X, std::invocable<std::int64_t> W>
float v16_dot(std::int64_t n, const X& x, const W& w) {
  constexpr std::int64_t kBlock = v16_block(kMap);
  std::array<float, 16> chains{};
  for (std::int64_t k = 0; k < n; ++k) {
    float& acc = chains[static_cast<std::size_t>(v16_chain(kMap, k))];
    acc = std::fma(w(k), x(k), acc);
  }
  for (std::int64_t k = n; k % kBlock != 0; ++k) {  // a padding product of +0 turns an underflowed -0 into +0
    chains[static_cast<std::size_t>(v16_chain(kMap, k))] += 0.0F;
  }
  return tree16(chains.data());
}

/// V16 of two fp32 arrays.
template <ColumnMap kMap>
float v16_dot(std::int64_t n, const float* x, const float* w) {
  return v16_dot<kMap>(
      n, [x](std::int64_t k) { return x[k]; }, [w](std::int64_t k) { return w[k]; });
}

/// Sum by 8 chains (element i mod 8, ascending) and the 8-lane tree: block sums of attention weights.
inline float sum8(const float* values, std::int64_t n) {
  std::array<float, 8> chains{};
  for (std::int64_t i = 0; i < n; ++i) chains[static_cast<std::size_t>(i % 8)] += values[i];
  return tree8(chains.data());
}

/// HC chunk rule: columns [128 c, 128 c + width) of every stream form chunk c, stream-major; V16 (fp32 map) inside a
/// chunk; chunk results are added to +0 in ascending c. Threads split by chunk and add in this order.
inline constexpr std::int64_t kHcChunk = 128;
constexpr std::int64_t hc_num_chunks(std::int64_t hidden) { return (hidden + kHcChunk - 1) / kHcChunk; }
constexpr std::int64_t hc_chunk_width(std::int64_t hidden, std::int64_t chunk) {
  return std::min(kHcChunk, hidden - chunk * kHcChunk);
}

/// One chunk; x and w are callables of the index stream * hidden + column.
template <typename X, typename W>
float hc_chunk_dot(std::int64_t hidden, std::int64_t streams, std::int64_t chunk, const X& x, const W& w) {
  const std::int64_t width = hc_chunk_width(hidden, chunk);
  const auto index = [=](std::int64_t k) { return (k / width) * hidden + chunk * kHcChunk + k % width; };
  return v16_dot<ColumnMap::kF32>(
      streams * width, [&](std::int64_t k) { return x(index(k)); }, [&](std::int64_t k) { return w(index(k)); });
}

/// All chunks of a [streams, hidden] vector pair.
template <typename X, typename W>
float hc_dot(std::int64_t hidden, std::int64_t streams, const X& x, const W& w) {
  float acc = 0.0F;
  for (std::int64_t c = 0; c < hc_num_chunks(hidden); ++c) acc += hc_chunk_dot(hidden, streams, c, x, w);
  return acc;
}

}  // namespace deepinfer::numeric
