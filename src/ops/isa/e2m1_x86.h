// What the AVX2 and AVX-512 sources share: class A activations as signed byte planes, scales of eight rows.
//
// Everything here has internal linkage on purpose: each including source is compiled for another instruction set, and
// a function with external linkage would leave the linker one copy for all. Source: kernels.md 2, 4.1.
#pragma once

#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "ops/isa/isa_tables.h"

namespace deepinfer::isa {
namespace {

constexpr std::int64_t kGroupColumns = 32;  // columns under one ue8m0 scale

inline __m256i load_i(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }
inline __m128i load_i128(const void* p) { return _mm_loadu_si128(static_cast<const __m128i*>(p)); }
inline __m128i load_i64(const void* p) { return _mm_loadl_epi64(static_cast<const __m128i*>(p)); }
inline void store_i(void* p, __m256i v) { _mm256_storeu_si256(static_cast<__m256i*>(p), v); }
inline void prefetch(const char* p) { _mm_prefetch(p, _MM_HINT_T0); }

/// Lanes below n of 8, for loads that must not touch what follows.
inline __m256i lanes_below(std::int64_t n) {
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
}

/// ue8m0 bytes, zero-extended to 32 bits, as floats; 0 is 2^-127.
inline __m256 scales_f32(__m256i bytes) {
  return _mm256_castsi256_ps(_mm256_max_epu32(_mm256_slli_epi32(bytes, 23), _mm256_set1_epi32(0x00400000)));
}
inline float scale_f32(std::uint8_t byte) { return _mm256_cvtss_f32(scales_f32(_mm256_set1_epi32(byte))); }

// Activation integers A (units of 2^-9) are split into signed bytes A = p0 + 2^8 p1 + 2^14 p2; weights are looked up as
// 2w + 12 in 0..24, so that u8 x s8 multiplies need no sign work; 12 * sum(A) of the group is subtracted again. Sums of
// one byte product pair stay below 2 * 24 * 128 * 2 = 12,288 and fit int16.

/// Prepared activations of one call. A vector of V bytes holds V / 16 groups, one 128-bit lane a group; per such set of
/// groups there are six vectors: p0 even columns, p0 odd, p1 even, p1 odd, p2 even, p2 odd.
struct Fp4Activation {
  std::int8_t* planes;
  std::int32_t* correction;  ///< per group: -12 * sum(A)
  float* scale;              ///< per group: 2^(exponent - 10)
  std::uint8_t* row_scales;  ///< [group][8 rows], refilled for every row block
};

/// Integers A of 8 codes.
inline __m256i e4m3_integers(__m256i code) {
  const __m256i exponent = _mm256_and_si256(_mm256_srli_epi32(code, 3), _mm256_set1_epi32(15));
  const __m256i hidden = _mm256_slli_epi32(_mm256_min_epu32(exponent, _mm256_set1_epi32(1)), 3);
  const __m256i mantissa = _mm256_or_si256(_mm256_and_si256(code, _mm256_set1_epi32(7)), hidden);
  const __m256i shift = _mm256_sub_epi32(_mm256_max_epu32(exponent, _mm256_set1_epi32(1)), _mm256_set1_epi32(1));
  const __m256i sign = _mm256_or_si256(_mm256_slli_epi32(code, 24), _mm256_set1_epi32(1));
  return _mm256_sign_epi32(_mm256_sllv_epi32(mantissa, shift), sign);
}

/// p0 | p1 << 8 | p2 << 16 of 8 integers.
inline __m256i split_planes(__m256i a) {
  const __m256i rest = _mm256_srai_epi32(_mm256_add_epi32(a, _mm256_set1_epi32(128)), 8);
  const __m256i p2 = _mm256_srai_epi32(_mm256_add_epi32(rest, _mm256_set1_epi32(32)), 6);
  const __m256i p1 = _mm256_sub_epi32(rest, _mm256_slli_epi32(p2, 6));
  const __m256i byte = _mm256_set1_epi32(255);
  return _mm256_or_si256(
      _mm256_and_si256(a, byte),
      _mm256_or_si256(_mm256_slli_epi32(_mm256_and_si256(p1, byte), 8), _mm256_slli_epi32(p2, 16)));
}

/// 8x8 transpose of 16-bit words inside each lane.
inline void transpose_words(__m256i* v) {
  __m256i t[8];
  __m256i u[8];
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
  }
  for (int h = 0; h < 2; ++h) {
    for (int i = 0; i < 2; ++i) {
      u[4 * h + 2 * i] = _mm256_unpacklo_epi32(t[4 * h + i], t[4 * h + 2 + i]);
      u[4 * h + 2 * i + 1] = _mm256_unpackhi_epi32(t[4 * h + i], t[4 * h + 2 + i]);
    }
  }
  for (int i = 0; i < 4; ++i) {
    v[2 * i] = _mm256_unpacklo_epi64(u[i], u[4 + i]);
    v[2 * i + 1] = _mm256_unpackhi_epi64(u[i], u[4 + i]);
  }
}

/// Planes (vectors `plane_stride` bytes apart) and corrections of two groups (the second may be absent).
inline void prepare_pair(const std::uint8_t* codes, bool second, std::int64_t plane_stride, std::int8_t* planes,
                         std::int32_t* correction) {
  // Per lane of 4 columns: words (p0 even, p0 odd, p1 even, p1 odd, p2 even, p2 odd), two columns each.
  const __m256i gather = _mm256_broadcastsi128_si256(
      _mm_setr_epi8(0, 8, 4, 12, 1, 9, 5, 13, 2, 10, 6, 14, -1, -1, -1, -1));
  __m256i words[8];
  __m256i sum = _mm256_setzero_si256();
  for (int half = 0; half < 2; ++half) {
    const __m128i a = load_i128(codes + 16 * half);
    const __m128i b = second ? load_i128(codes + kGroupColumns + 16 * half) : _mm_setzero_si128();
    const __m128i low = _mm_unpacklo_epi32(a, b);
    const __m128i high = _mm_unpackhi_epi32(a, b);
    const __m128i quads[4] = {low, _mm_unpackhi_epi64(low, low), high, _mm_unpackhi_epi64(high, high)};
    for (int i = 0; i < 4; ++i) {
      const __m256i integers = e4m3_integers(_mm256_cvtepu8_epi32(quads[i]));
      sum = _mm256_add_epi32(sum, integers);
      words[4 * half + i] = _mm256_shuffle_epi8(split_planes(integers), gather);
    }
  }
  transpose_words(words);
  for (int i = 0; i < 6; ++i) store_i(planes + plane_stride * i, words[i]);
  sum = _mm256_hadd_epi32(sum, sum);
  sum = _mm256_hadd_epi32(sum, sum);
  correction[0] = -12 * _mm256_extract_epi32(sum, 0);
  correction[1] = -12 * _mm256_extract_epi32(sum, 4);
}

/// Prepares x for vectors of `vector_bytes` (32 or 64); missing groups of the last vector are zero.
inline Fp4Activation prepare_e2m1(const std::uint8_t* x, const std::uint8_t* xs, std::int64_t k,
                                  std::int64_t vector_bytes) {
  const std::int64_t groups = k / kGroupColumns;
  const std::int64_t per_vector = vector_bytes / 16;
  const std::int64_t padded = (groups + per_vector - 1) / per_vector * per_vector;
  auto* memory = static_cast<std::int8_t*>(scratch(padded * (96 + 4 + 4 + 8)));
  Fp4Activation out{memory, nullptr, nullptr, nullptr};
  out.correction = reinterpret_cast<std::int32_t*>(memory + padded * 96);
  out.scale = reinterpret_cast<float*>(out.correction + padded);
  out.row_scales = reinterpret_cast<std::uint8_t*>(out.scale + padded);
  if (padded != groups) {
    std::memset(memory + (padded - per_vector) * 96, 0, static_cast<std::size_t>(per_vector * 96));
  }
  for (std::int64_t g = 0; g < groups; g += 2) {
    std::int8_t* planes = out.planes + g / per_vector * 6 * vector_bytes + g % per_vector * 16;
    prepare_pair(x + g * kGroupColumns, g + 1 < groups, vector_bytes, planes, out.correction + g);
  }
  for (std::int64_t g = 0; g < groups; ++g) out.scale[g] = scale_f32(xs[g]) * 0x1p-10F;
  return out;
}

/// Scales of 8 rows as [group][8]; rows past the last repeat it.
inline void transpose_scales(const std::uint8_t* const* rows, std::int64_t groups, std::uint8_t* out) {
  std::int64_t g = 0;
  for (; g + 8 <= groups; g += 8) {
    __m128i t[4];
    for (int r = 0; r < 4; ++r) t[r] = _mm_unpacklo_epi8(load_i64(rows[2 * r] + g), load_i64(rows[2 * r + 1] + g));
    for (int h = 0; h < 2; ++h) {
      const __m128i a = h == 0 ? _mm_unpacklo_epi16(t[0], t[1]) : _mm_unpackhi_epi16(t[0], t[1]);
      const __m128i b = h == 0 ? _mm_unpacklo_epi16(t[2], t[3]) : _mm_unpackhi_epi16(t[2], t[3]);
      auto* place = reinterpret_cast<__m128i*>(out + 8 * g + 32 * h);
      _mm_storeu_si128(place, _mm_unpacklo_epi32(a, b));
      _mm_storeu_si128(place + 1, _mm_unpackhi_epi32(a, b));
    }
  }
  for (; g < groups; ++g) {
    for (int r = 0; r < 8; ++r) out[8 * g + r] = rows[r][g];
  }
}

/// One group of 8 rows (`sums` without the correction) added to their chains.
inline __m256 add_group(const Fp4Activation& x, std::int64_t group, __m256i sums, __m256 acc) {
  const __m256 value = _mm256_cvtepi32_ps(_mm256_add_epi32(sums, _mm256_set1_epi32(x.correction[group])));
  const __m256 row_scale = scales_f32(_mm256_cvtepu8_epi32(load_i64(x.row_scales + 8 * group)));
  return _mm256_fmadd_ps(value, _mm256_mul_ps(_mm256_set1_ps(x.scale[group]), row_scale), acc);
}

/// Eight rows of a matrix; rows past the last repeat it, so that a short block needs no code of its own.
struct RowBlock {
  const std::uint8_t* codes[8];
  const std::uint8_t* scales[8];
};
inline RowBlock row_block(const std::uint8_t* w, const std::uint8_t* ws, std::int64_t k, std::int64_t first,
                          std::int64_t num_rows) {
  RowBlock block;
  for (std::int64_t r = 0; r < 8; ++r) {
    const std::int64_t row = first + r < num_rows ? first + r : num_rows - 1;
    block.codes[r] = w + row * k / 2;
    block.scales[r] = ws + row * (k / kGroupColumns);
  }
  return block;
}
/// Stores the results of the rows that exist.
inline void store_rows(float* out, std::int64_t first, std::int64_t num_rows, __m256 values) {
  _mm256_maskstore_ps(out + first, lanes_below(num_rows - first < 8 ? num_rows - first : 8), values);
}

}  // namespace
}  // namespace deepinfer::isa
