// AVX2 + FMA table. This file is compiled with wider instructions than the rest of the program, so it uses only
// intrinsics, constants and file-local functions: an inline function of a header emitted here could be the copy that
// the linker keeps for every caller.
//
// Layout facts: two ymm registers hold the 16 chains of a row; activations are permuted once per call into chain order
// (a few microseconds against tens for the rows); rows are taken in blocks while the next block is prefetched in
// address order. Source: kernels.md 2, 4.
#include <immintrin.h>

#include <cstdint>
#include <cstring>

#include "ops/isa/e2m1_x86.h"
#include "ops/isa/isa_tables.h"
#include "tensor/numeric/exp32.h"

namespace deepinfer::isa {
namespace {

/// u, v, result of the V16 tree on 8 lanes t_i.
inline float tree8(__m256 t) {
  __m128 u = _mm_add_ps(_mm256_castps256_ps128(t), _mm256_extractf128_ps(t, 1));
  u = _mm_add_ps(u, _mm_movehl_ps(u, u));
  return _mm_cvtss_f32(_mm_add_ss(u, _mm_movehdup_ps(u)));
}
/// chains(0, i) in a, chains(1, i) in b.
inline float tree16_split(__m256 a, __m256 b) { return tree8(_mm256_add_ps(a, b)); }
/// Chains in column order (bf16 map): t_i is a sum of neighbours.
inline float tree16_pairs(__m256 a, __m256 b) {
  const __m256 t = _mm256_hadd_ps(a, b);  // t0 t1 t4 t5 | t2 t3 t6 t7
  return tree8(_mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(t), 0xD8)));
}
/// Sign bit set where lanes are not below 2^7 in magnitude, NaN included.
inline __m256 not_small(__m256 x) {
  const __m256 magnitude = _mm256_andnot_ps(_mm256_set1_ps(-0.0F), x);
  return _mm256_cmp_ps(magnitude, _mm256_set1_ps(128.0F), _CMP_NLT_UQ);
}

// ------------------------------------------------------------------------------------------------ e4m3 rows

/// Per block of 32 columns: column 4i + j to place 8j + i, times `factor`. Returns whether all |x| < 2^7.
bool permute_e4m3(const float* x, std::int64_t k, float factor, float* out) {
  const __m256 f = _mm256_set1_ps(factor);
  __m256 large = _mm256_setzero_ps();
  for (std::int64_t b = 0; b < k; b += 32) {
    __m256 r[4];
    for (int i = 0; i < 4; ++i) {  // lane 0: columns 4i.., lane 1: columns 16 + 4i..
      r[i] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(x + b + 4 * i)),
                                  _mm_loadu_ps(x + b + 16 + 4 * i), 1);
      large = _mm256_or_ps(large, not_small(r[i]));
    }
    const __m256 t0 = _mm256_unpacklo_ps(r[0], r[1]);
    const __m256 t1 = _mm256_unpackhi_ps(r[0], r[1]);
    const __m256 t2 = _mm256_unpacklo_ps(r[2], r[3]);
    const __m256 t3 = _mm256_unpackhi_ps(r[2], r[3]);
    _mm256_storeu_ps(out + b, _mm256_mul_ps(f, _mm256_shuffle_ps(t0, t2, 0x44)));
    _mm256_storeu_ps(out + b + 8, _mm256_mul_ps(f, _mm256_shuffle_ps(t0, t2, 0xEE)));
    _mm256_storeu_ps(out + b + 16, _mm256_mul_ps(f, _mm256_shuffle_ps(t1, t3, 0x44)));
    _mm256_storeu_ps(out + b + 24, _mm256_mul_ps(f, _mm256_shuffle_ps(t1, t3, 0xEE)));
  }
  return _mm256_movemask_ps(large) == 0;
}

/// Columns 4i + j of a block of 32, j = 0..3, as floats.
struct Decoded {
  __m256 v[4];
};

/// value * 2^-120: shifting a byte right by 4 from the top of a 16-bit word puts its exponent field in place. Subnormal
/// codes give subnormal floats, which are exact but cost a microcode assist each on Intel cores.
inline Decoded decode_by_shift(__m256i q) {
  const __m256i fields = _mm256_set1_epi16(static_cast<short>(0x87F0));
  const __m256i upper = _mm256_set1_epi32(static_cast<int>(0xFFFF0000U));
  const __m256i odd = _mm256_and_si256(_mm256_srai_epi16(q, 4), fields);
  const __m256i even = _mm256_and_si256(_mm256_srai_epi16(_mm256_slli_epi16(q, 8), 4), fields);
  return {{_mm256_castsi256_ps(_mm256_slli_epi32(even, 16)), _mm256_castsi256_ps(_mm256_slli_epi32(odd, 16)),
           _mm256_castsi256_ps(_mm256_and_si256(even, upper)), _mm256_castsi256_ps(_mm256_and_si256(odd, upper))}};
}

/// value * 2^-8 through half precision: never subnormal, but about twice the instructions.
inline Decoded decode_by_half(__m256i q) {
  const __m256i fields = _mm256_set1_epi16(static_cast<short>(0xBF80));
  const __m256i odd = _mm256_and_si256(_mm256_srai_epi16(q, 1), fields);
  const __m256i even = _mm256_and_si256(_mm256_srai_epi16(_mm256_slli_epi16(q, 8), 1), fields);
  const auto words = [](__m256i dwords) {  // 8 values below 2^16 to half precision numbers
    const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(dwords, dwords), 0x08);
    return _mm256_cvtph_ps(_mm256_castsi256_si128(packed));
  };
  const __m256i low = _mm256_set1_epi32(0xFFFF);
  return {{words(_mm256_and_si256(even, low)), words(_mm256_and_si256(odd, low)), words(_mm256_srli_epi32(even, 16)),
           words(_mm256_srli_epi32(odd, 16))}};
}

/// Whether some magnitude (byte without sign, doubled) is below 8: a subnormal code or zero.
inline bool any_small(__m256i doubled) {
  const __m256i limit = _mm256_set1_epi8(14);
  return _mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_min_epu8(doubled, limit), doubled)) != 0;
}

/// The 16 chains of a row: a holds (0, i), c holds (1, i).
struct Chains {
  __m256 a = _mm256_setzero_ps();
  __m256 c = _mm256_setzero_ps();
};

/// R rows. kScaled: the activations carry 2^120, so a product with a shift-decoded weight is the exact one; blocks with
/// a subnormal code go through half precision and activations brought to 2^8. Otherwise (large activations, which
/// cannot carry that factor) everything goes through half precision.
template <int R, bool kScaled>
void e4m3_block(const float* x, const std::uint8_t* w, std::int64_t k, float* out) {
  const __m256 x_factor = _mm256_set1_ps(kScaled ? 0x1p-112F : 1.0F);
  const __m256 w_factor = _mm256_set1_ps(kScaled ? 1.0F : 0x1p8F);
  Chains chains[R];
  const char* ahead = reinterpret_cast<const char*>(w) + R * k;
  for (std::int64_t b = 0; b < k; b += 32) {
    for (int r = 0; r < R * 32; r += 64) prefetch(ahead + r);
    ahead += R * 32;
    __m256i smallest = _mm256_set1_epi8(-1);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const __m256i q = load_i(w + r * k + b);
      smallest = _mm256_min_epu8(smallest, _mm256_add_epi8(q, q));
    }
    if (kScaled && !any_small(smallest)) [[likely]] {
#pragma GCC unroll 4
      for (int r = 0; r < R; ++r) {
        const Decoded d = decode_by_shift(load_i(w + r * k + b));
        chains[r].a = _mm256_fmadd_ps(d.v[0], _mm256_loadu_ps(x + b), chains[r].a);
        chains[r].c = _mm256_fmadd_ps(d.v[1], _mm256_loadu_ps(x + b + 8), chains[r].c);
        chains[r].a = _mm256_fmadd_ps(d.v[2], _mm256_loadu_ps(x + b + 16), chains[r].a);
        chains[r].c = _mm256_fmadd_ps(d.v[3], _mm256_loadu_ps(x + b + 24), chains[r].c);
      }
      continue;
    }
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      const Decoded d = decode_by_half(load_i(w + r * k + b));
#pragma GCC unroll 4
      for (int j = 0; j < 4; ++j) {
        const __m256 xj = _mm256_mul_ps(_mm256_loadu_ps(x + b + 8 * j), x_factor);
        __m256& chain = j % 2 == 0 ? chains[r].a : chains[r].c;
        chain = _mm256_fmadd_ps(_mm256_mul_ps(d.v[j], w_factor), xj, chain);
      }
    }
  }
  for (int r = 0; r < R; ++r) out[r] = tree16_split(chains[r].a, chains[r].c);
}

template <bool kScaled>
void e4m3_all(const float* x, const std::uint8_t* w, std::int64_t k, std::int64_t num_rows, float* out) {
  std::int64_t r = 0;
  for (; r + 4 <= num_rows; r += 4) e4m3_block<4, kScaled>(x, w + r * k, k, out + r);
  for (; r < num_rows; ++r) e4m3_block<1, kScaled>(x, w + r * k, k, out + r);
}

void rows_e4m3(const float* x, const std::uint8_t* w, std::int64_t k, std::int64_t num_rows, float* out) {
  auto* permuted = static_cast<float*>(scratch(k * std::int64_t{sizeof(float)}));
  if (permute_e4m3(x, k, 0x1p120F, permuted)) {
    e4m3_all<true>(permuted, w, k, num_rows, out);
  } else {
    permute_e4m3(x, k, 1.0F, permuted);
    e4m3_all<false>(permuted, w, k, num_rows, out);
  }
}

// ------------------------------------------------------------------------------------------------ bf16 rows

inline void store_even_odd(__m256 low, __m256 high, float* out) {
  const auto place = [](__m256 v) {
    return _mm256_castpd_ps(_mm256_permute4x64_pd(_mm256_castps_pd(v), 0xD8));
  };
  _mm256_storeu_ps(out, place(_mm256_shuffle_ps(low, high, 0x88)));
  _mm256_storeu_ps(out + 8, place(_mm256_shuffle_ps(low, high, 0xDD)));
}

/// Per block of 16 columns: evens, then odds; the last block padded with zeros.
void permute_bf16(const float* x, std::int64_t k, float* out) {
  std::int64_t b = 0;
  for (; b + 16 <= k; b += 16) store_even_odd(_mm256_loadu_ps(x + b), _mm256_loadu_ps(x + b + 8), out + b);
  if (b < k) {
    store_even_odd(_mm256_maskload_ps(x + b, lanes_below(k - b)), _mm256_maskload_ps(x + b + 8, lanes_below(k - b - 8)),
                   out + b);
  }
}

template <int R>
void bf16_block(const float* x, const BF16* w, std::int64_t k, float* out) {
  const __m256i mask = _mm256_set1_epi32(static_cast<int>(0xFFFF0000U));
  __m256 a[R];
  __m256 c[R];
  for (int r = 0; r < R; ++r) a[r] = c[r] = _mm256_setzero_ps();
  const auto step = [&](int r, __m256i q, const float* xb) {
    a[r] = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_slli_epi32(q, 16)), _mm256_loadu_ps(xb), a[r]);
    c[r] = _mm256_fmadd_ps(_mm256_castsi256_ps(_mm256_and_si256(q, mask)), _mm256_loadu_ps(xb + 8), c[r]);
  };
  const char* ahead = reinterpret_cast<const char*>(w) + 2 * R * k;
  std::int64_t b = 0;
  for (; b + 16 <= k; b += 16) {
    for (int r = 0; r < R * 32; r += 64) prefetch(ahead + r);
    ahead += R * 32;
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) step(r, load_i(w + r * k + b), x + b);
  }
  if (b < k) {
    for (int r = 0; r < R; ++r) {
      BF16 tail[16] = {};
      std::memcpy(tail, w + r * k + b, static_cast<std::size_t>(k - b) * sizeof(BF16));
      step(r, load_i(tail), x + b);
    }
  }
  for (int r = 0; r < R; ++r) out[r] = tree16_split(a[r], c[r]);
}

void rows_bf16(const float* x, const BF16* w, std::int64_t k, std::int64_t num_rows, float* out) {
  auto* permuted = static_cast<float*>(scratch((k + 16) * std::int64_t{sizeof(float)}));
  permute_bf16(x, k, permuted);
  std::int64_t r = 0;
  for (; r + 4 <= num_rows; r += 4) bf16_block<4>(permuted, w + r * k, k, out + r);
  for (; r < num_rows; ++r) bf16_block<1>(permuted, w + r * k, k, out + r);
}

// ------------------------------------------------------------------------------------------------ fp32 rows

/// Chains by column mod 16; the two maps differ only in the tree.
template <int R, typename Tree>
void f32_block(const float* x, const float* w, std::int64_t k, std::int64_t stride, Tree tree, float* out) {
  __m256 a[R];
  __m256 c[R];
  for (int r = 0; r < R; ++r) a[r] = c[r] = _mm256_setzero_ps();
  std::int64_t b = 0;
  for (; b + 16 <= k; b += 16) {
    const __m256 x0 = _mm256_loadu_ps(x + b);
    const __m256 x1 = _mm256_loadu_ps(x + b + 8);
#pragma GCC unroll 4
    for (int r = 0; r < R; ++r) {
      prefetch(reinterpret_cast<const char*>(w + (R + r) * stride + b));
      a[r] = _mm256_fmadd_ps(_mm256_loadu_ps(w + r * stride + b), x0, a[r]);
      c[r] = _mm256_fmadd_ps(_mm256_loadu_ps(w + r * stride + b + 8), x1, c[r]);
    }
  }
  if (b < k) {
    const __m256i m0 = lanes_below(k - b);
    const __m256i m1 = lanes_below(k - b - 8);
    for (int r = 0; r < R; ++r) {
      const float* row = w + r * stride + b;
      a[r] = _mm256_fmadd_ps(_mm256_maskload_ps(row, m0), _mm256_maskload_ps(x + b, m0), a[r]);
      c[r] = _mm256_fmadd_ps(_mm256_maskload_ps(row + 8, m1), _mm256_maskload_ps(x + b + 8, m1), c[r]);
    }
  }
  for (int r = 0; r < R; ++r) out[r] = tree(a[r], c[r]);
}

template <typename Tree>
void f32_all(const float* x, const float* w, std::int64_t k, std::int64_t num_rows, std::int64_t stride, float* out,
             Tree tree) {
  std::int64_t r = 0;
  for (; r + 4 <= num_rows; r += 4) f32_block<4>(x, w + r * stride, k, stride, tree, out + r);
  for (; r < num_rows; ++r) f32_block<1>(x, w + r * stride, k, stride, tree, out + r);
}

void rows_f32(const float* x, const float* w, std::int64_t k, std::int64_t num_rows, std::int64_t stride, float* out) {
  f32_all(x, w, k, num_rows, stride, out, [](__m256 a, __m256 c) { return tree16_split(a, c); });
}

void rows_f32_bf16map(const float* x, const float* w, std::int64_t k, std::int64_t num_rows, std::int64_t stride,
                      float* out) {
  f32_all(x, w, k, num_rows, stride, out, [](__m256 a, __m256 c) { return tree16_pairs(a, c); });
}

// ------------------------------------------------------------------------------------------------ e2m1 rows
//
/// 2w + 12 of every e2m1 code, in both lanes.
inline __m256i e2m1_lut() {
  return _mm256_broadcastsi128_si256(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
}
/// Exact dots of 8 rows with one pair of groups: lane r of `first` / `second` is row r.
struct PairSums {
  __m256i first;
  __m256i second;
};
template <typename Load>
inline PairSums e2m1_pair(const std::int8_t* p, Load load) {
  const __m256i lut = e2m1_lut();
  const __m256i nibble = _mm256_set1_epi8(15);
  __m256i v[8];
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r) {
    const __m256i q = load(r);
    const __m256i even = _mm256_shuffle_epi8(lut, _mm256_and_si256(q, nibble));
    const __m256i odd = _mm256_shuffle_epi8(lut, _mm256_and_si256(_mm256_srli_epi16(q, 4), nibble));
    const auto plane = [&](int i, int weight) {
      const __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(even, load_i(p + 64 * i)),
                                           _mm256_maddubs_epi16(odd, load_i(p + 64 * i + 32)));
      return _mm256_madd_epi16(sum, _mm256_set1_epi16(static_cast<short>(weight)));
    };
    v[r] = _mm256_add_epi32(plane(0, 1), _mm256_add_epi32(plane(1, 1 << 8), plane(2, 1 << 14)));
  }
  const auto add4 = [&](int r) {
    return _mm256_hadd_epi32(_mm256_hadd_epi32(v[r], v[r + 1]), _mm256_hadd_epi32(v[r + 2], v[r + 3]));
  };
  const __m256i a = add4(0);
  const __m256i c = add4(4);
  return {_mm256_permute2x128_si256(a, c, 0x20), _mm256_permute2x128_si256(a, c, 0x31)};
}

__m256 e2m1_block(const Fp4Activation& x, const std::uint8_t* const* rows, std::int64_t groups) {
  __m256 acc = _mm256_setzero_ps();
  const char* ahead = reinterpret_cast<const char*>(rows[7]) + groups * 16;
  std::int64_t g = 0;
  for (; g + 2 <= groups; g += 2) {
    for (int i = 0; i < 256; i += 64) prefetch(ahead + i);
    ahead += 256;
    const PairSums sums = e2m1_pair(x.planes + g * 96, [&](int r) { return load_i(rows[r] + g * 16); });
    acc = add_group(x, g, sums.first, acc);
    acc = add_group(x, g + 1, sums.second, acc);
  }
  if (g < groups) {
    const PairSums sums =
        e2m1_pair(x.planes + g * 96, [&](int r) { return _mm256_zextsi128_si256(load_i128(rows[r] + g * 16)); });
    acc = add_group(x, g, sums.first, acc);
  }
  return acc;
}

void rows_e2m1(const std::uint8_t* x, const std::uint8_t* xs, const std::uint8_t* w, const std::uint8_t* ws,
               std::int64_t k, std::int64_t num_rows, float* out) {
  const std::int64_t groups = k / kGroupColumns;
  const Fp4Activation activation = prepare_e2m1(x, xs, k, sizeof(__m256i));
  for (std::int64_t n = 0; n < num_rows; n += 8) {
    const RowBlock block = row_block(w, ws, k, n, num_rows);
    transpose_scales(block.scales, groups, activation.row_scales);
    store_rows(out, n, num_rows, e2m1_block(activation, block.codes, groups));
  }
}

// ------------------------------------------------------------------------------------------------ element-wise

void axpy(float a, const float* x, float* y, std::int64_t n) {
  const __m256 factor = _mm256_set1_ps(a);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    _mm256_storeu_ps(y + i, _mm256_fmadd_ps(factor, _mm256_loadu_ps(x + i), _mm256_loadu_ps(y + i)));
  }
  if (i < n) {
    const __m256i m = lanes_below(n - i);
    const __m256 sum = _mm256_fmadd_ps(factor, _mm256_maskload_ps(x + i, m), _mm256_maskload_ps(y + i, m));
    _mm256_maskstore_ps(y + i, m, sum);
  }
}

void scale(float a, float* y, std::int64_t n) {
  const __m256 factor = _mm256_set1_ps(a);
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(y + i, _mm256_mul_ps(factor, _mm256_loadu_ps(y + i)));
  if (i < n) {
    const __m256i m = lanes_below(n - i);
    _mm256_maskstore_ps(y + i, m, _mm256_mul_ps(factor, _mm256_maskload_ps(y + i, m)));
  }
}

inline __m256 exp8(__m256 x) {
  namespace c = numeric::exp32_constants;
  const auto k = [](float value) { return _mm256_set1_ps(value); };
  const __m256 n = _mm256_round_ps(_mm256_mul_ps(x, k(c::kLog2E)), _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC);
  __m256 r = _mm256_fmadd_ps(n, k(c::kMinusLn2High), x);
  r = _mm256_fmadd_ps(n, k(c::kMinusLn2Low), r);
  __m256 q = _mm256_fmadd_ps(k(c::kQ0), r, k(c::kQ1));
  q = _mm256_fmadd_ps(q, r, k(c::kQ2));
  q = _mm256_fmadd_ps(q, r, k(c::kQ3));
  q = _mm256_fmadd_ps(q, r, k(c::kQ4));
  const __m256 p = _mm256_add_ps(_mm256_fmadd_ps(q, _mm256_mul_ps(r, r), r), k(1.0F));
  const __m256i exponent = _mm256_slli_epi32(_mm256_cvtps_epi32(n), 23);
  __m256 result = _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(p), exponent));
  result = _mm256_andnot_ps(_mm256_cmp_ps(x, k(c::kLowest), _CMP_LT_OQ), result);
  result = _mm256_blendv_ps(result, _mm256_castsi256_ps(_mm256_set1_epi32(0x7F800000)),
                            _mm256_cmp_ps(x, k(c::kHighest), _CMP_GT_OQ));
  return _mm256_blendv_ps(result, x, _mm256_cmp_ps(x, x, _CMP_UNORD_Q));
}

void exp32(float* x, std::int64_t n) {
  std::int64_t i = 0;
  for (; i + 8 <= n; i += 8) _mm256_storeu_ps(x + i, exp8(_mm256_loadu_ps(x + i)));
  if (i < n) {
    const __m256i m = lanes_below(n - i);
    _mm256_maskstore_ps(x + i, m, exp8(_mm256_maskload_ps(x + i, m)));
  }
}

// ------------------------------------------------------------------------------------------------ index dots

/// Query of one head: per group 64 bytes, even columns then odd columns, each repeated in both lanes.
struct IndexQuery {
  std::int8_t* columns;
  std::int32_t* correction;  ///< -12 * sum(q)
  float* scale;              ///< 2^(exponent - 2)
};

IndexQuery prepare_query(const std::int8_t* q, const std::uint8_t* qs, std::int64_t groups) {
  auto* memory = static_cast<std::int8_t*>(scratch(groups * (64 + 8)));
  IndexQuery out{memory, reinterpret_cast<std::int32_t*>(memory + groups * 64), nullptr};
  out.scale = reinterpret_cast<float*>(out.correction + groups);
  for (std::int64_t g = 0; g < groups; ++g) {
    std::int32_t sum = 0;
    for (int i = 0; i < 32; ++i) {
      const std::int8_t value = q[32 * g + i];
      sum += value;
      std::int8_t* place = out.columns + 64 * g + 32 * (i & 1) + i / 2;
      place[0] = place[16] = value;
    }
    out.correction[g] = -12 * sum;
    out.scale[g] = scale_f32(qs[g]) * 0.25F;
  }
  return out;
}

/// Scale bytes of groups g..g+3 (as far as they exist) of 8 keys, one 32-bit lane a key.
inline __m256i key_scales(const std::uint8_t* const* keys, std::int64_t offset, std::int64_t count) {
  std::uint32_t bytes[8] = {};
  for (int r = 0; r < 8; ++r) {
    if (count >= 4) {
      std::memcpy(&bytes[r], keys[r] + offset, 4);
    } else {
      std::memcpy(&bytes[r], keys[r] + offset, static_cast<std::size_t>(count));
    }
  }
  return load_i(bytes);
}

/// Sums of 2q * (2w + 12) of one group: lane r is key r. Sums stay below 32 * 24 * 12 = 9,216.
inline __m256i index_group(const IndexQuery& query, const std::uint8_t* const* keys, std::int64_t g) {
  const __m256i lut = e2m1_lut();
  const __m256i nibble = _mm256_set1_epi8(15);
  const __m256i q_even = load_i(query.columns + 64 * g);
  const __m256i q_odd = load_i(query.columns + 64 * g + 32);
  __m256i v[4];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    const __m256i codes = _mm256_inserti128_si256(_mm256_castsi128_si256(load_i128(keys[r] + 16 * g)),
                                                  load_i128(keys[r + 4] + 16 * g), 1);
    const __m256i even = _mm256_shuffle_epi8(lut, _mm256_and_si256(codes, nibble));
    const __m256i odd = _mm256_shuffle_epi8(lut, _mm256_and_si256(_mm256_srli_epi16(codes, 4), nibble));
    const __m256i sum = _mm256_add_epi16(_mm256_maddubs_epi16(even, q_even), _mm256_maddubs_epi16(odd, q_odd));
    v[r] = _mm256_madd_epi16(sum, _mm256_set1_epi16(1));
  }
  return _mm256_hadd_epi32(_mm256_hadd_epi32(v[0], v[1]), _mm256_hadd_epi32(v[2], v[3]));
}

__m256 index_block(const IndexQuery& query, const std::uint8_t* const* keys, std::int64_t groups) {
  __m256 acc = _mm256_setzero_ps();
  for (std::int64_t g0 = 0; g0 < groups; g0 += 4) {
    const std::int64_t count = groups - g0 < 4 ? groups - g0 : 4;
    __m256i scales = key_scales(keys, groups * 16 + g0, count);
    for (std::int64_t g = g0; g < g0 + count; ++g) {
      const __m256i exact = _mm256_add_epi32(index_group(query, keys, g), _mm256_set1_epi32(query.correction[g]));
      const __m256 key_scale = scales_f32(_mm256_and_si256(scales, _mm256_set1_epi32(255)));
      const __m256 both = _mm256_mul_ps(_mm256_set1_ps(query.scale[g]), key_scale);
      acc = _mm256_fmadd_ps(_mm256_cvtepi32_ps(exact), both, acc);
      scales = _mm256_srli_epi32(scales, 8);
    }
  }
  return acc;
}

void index_dot(const std::int8_t* q, const std::uint8_t* qs, const std::uint8_t* keys, std::int64_t key_stride,
               std::int64_t c, std::int64_t num_rows, float* out) {
  const std::int64_t groups = c / kGroupColumns;
  const IndexQuery query = prepare_query(q, qs, groups);
  for (std::int64_t n = 0; n < num_rows; n += 8) {
    const std::uint8_t* rows[8];
    for (std::int64_t r = 0; r < 8; ++r) rows[r] = keys + (n + r < num_rows ? n + r : num_rows - 1) * key_stride;
    store_rows(out, n, num_rows, index_block(query, rows, groups));
  }
}

}  // namespace

const Kernels& avx2() {
  static constexpr Kernels kTable = {"avx2", rows_e4m3, rows_bf16, rows_f32, rows_e2m1, rows_f32_bf16map,
                                     axpy,   scale,     exp32,     index_dot};
  return kTable;
}

}  // namespace deepinfer::isa
