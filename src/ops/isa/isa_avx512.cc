// AVX-512 table (VNNI, VBMI): the exact e2m1 rows, where the byte dot instruction halves the work. The other entries
// come from the AVX2 table, which already reaches memory speed or nearly so; the bits are the same in any case.
// As in isa_avx2.cc only intrinsics and file-local functions are used. Source: kernels.md 2, 4.1.
#include <immintrin.h>

#include <cstdint>

#include "ops/isa/e2m1_x86.h"
#include "ops/isa/isa_tables.h"

namespace deepinfer::isa {
namespace {

/// 2w + 12 of every e2m1 code, four times: the byte permute looks at 6 index bits, so the upper nibble is ignored.
inline __m512i e2m1_lut() {
  return _mm512_broadcast_i32x4(_mm_setr_epi8(12, 13, 14, 15, 16, 18, 20, 24, 12, 11, 10, 9, 8, 6, 4, 0));
}

/// Per 128-bit lane: [a0 + a2, b0 + b2, a1 + a3, b1 + b3].
inline __m512i add_pairs(__m512i a, __m512i b) {
  return _mm512_add_epi32(_mm512_unpacklo_epi32(a, b), _mm512_unpackhi_epi32(a, b));
}
/// Per 128-bit lane: the sums of four vectors' lanes.
inline __m512i add_quads(const __m512i* v) {
  const __m512i t = add_pairs(v[0], v[1]);
  const __m512i u = add_pairs(v[2], v[3]);
  return _mm512_add_epi32(_mm512_unpacklo_epi64(t, u), _mm512_unpackhi_epi64(t, u));
}

/// Sum over the planes of one row and four groups, 4 partial sums a group.
inline __m512i row_dots(__m512i q, const __m512i* planes) {
  const __m512i even = _mm512_permutexvar_epi8(q, e2m1_lut());
  const __m512i odd = _mm512_permutexvar_epi8(_mm512_srli_epi16(q, 4), e2m1_lut());
  const auto plane = [&](int i) {
    const __m512i sum = _mm512_dpbusd_epi32(_mm512_setzero_si512(), even, planes[2 * i]);
    return _mm512_dpbusd_epi32(sum, odd, planes[2 * i + 1]);
  };
  return _mm512_add_epi32(plane(0), _mm512_add_epi32(_mm512_slli_epi32(plane(1), 8), _mm512_slli_epi32(plane(2), 14)));
}

/// 8 rows. The last vector may hold fewer than four groups: a masked load reads nothing behind the row.
__m256 e2m1_block(const Fp4Activation& x, const std::uint8_t* const* rows, std::int64_t groups) {
  __m256 acc = _mm256_setzero_ps();
  const char* ahead = reinterpret_cast<const char*>(rows[7]) + groups * 16;
  for (std::int64_t g = 0; g < groups; g += 4) {
    const std::int64_t count = groups - g < 4 ? groups - g : 4;
    const __mmask64 mask = ~0ULL >> (64 - 16 * count);
    __m512i planes[6];
    for (int i = 0; i < 6; ++i) planes[i] = _mm512_loadu_si512(x.planes + g * 96 + 64 * i);
    for (int i = 0; i < 512; i += 64) prefetch(ahead + i);
    ahead += 512;
    __m512i v[8];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) v[r] = row_dots(_mm512_maskz_loadu_epi8(mask, rows[r] + g * 16), planes);
    const __m512i a = add_quads(v);      // lane: group, elements: rows 0..3
    const __m512i c = add_quads(v + 4);  // rows 4..7
    const __m512i low = _mm512_shuffle_i32x4(a, c, 0x44);   // groups 0, 1 of both
    const __m512i high = _mm512_shuffle_i32x4(a, c, 0xEE);  // groups 2, 3 of both
    const __m512i first = _mm512_shuffle_i32x4(low, low, 0xD8);     // group 0 of 8 rows, group 1 of 8 rows
    const __m512i second = _mm512_shuffle_i32x4(high, high, 0xD8);  // groups 2 and 3
    acc = add_group(x, g, _mm512_castsi512_si256(first), acc);
    if (count > 1) acc = add_group(x, g + 1, _mm512_extracti64x4_epi64(first, 1), acc);
    if (count > 2) acc = add_group(x, g + 2, _mm512_castsi512_si256(second), acc);
    if (count > 3) acc = add_group(x, g + 3, _mm512_extracti64x4_epi64(second, 1), acc);
  }
  return acc;
}

void rows_e2m1(const std::uint8_t* x, const std::uint8_t* xs, const std::uint8_t* w, const std::uint8_t* ws,
               std::int64_t k, std::int64_t num_rows, float* out) {
  const std::int64_t groups = k / kGroupColumns;
  const Fp4Activation activation = prepare_e2m1(x, xs, k, sizeof(__m512i));
  for (std::int64_t n = 0; n < num_rows; n += 8) {
    const RowBlock block = row_block(w, ws, k, n, num_rows);
    transpose_scales(block.scales, groups, activation.row_scales);
    store_rows(out, n, num_rows, e2m1_block(activation, block.codes, groups));
  }
}

constexpr std::string_view kName = "avx512";  // a constant, so that its constructor is not emitted here

Kernels make_table() {
  Kernels table = avx2();
  table.name = kName;
  table.rows_e2m1 = rows_e2m1;
  return table;
}

}  // namespace

const Kernels& avx512() {
  static const Kernels table = make_table();
  return table;
}

}  // namespace deepinfer::isa
