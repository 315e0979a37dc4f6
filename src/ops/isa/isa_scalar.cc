// The definition of every entry in plain C++. Fused operations are written as std::fma, so the bits do not depend on
// how this file is compiled.
#include <array>
#include <bit>
#include <cmath>

#include "ops/isa/isa.h"
#include "ops/isa/isa_common.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/exp32.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::isa {
namespace {

using numeric::ColumnMap;

/// V16 of every row; `weight(r, k)` decodes one element.
template <ColumnMap kMap, typename Weight>
void rows_v16(const float* x, std::int64_t k, std::int64_t num_rows, float* out, const Weight& weight) {
  for (std::int64_t r = 0; r < num_rows; ++r) {
    out[r] = numeric::v16_dot<kMap>(
        k, [x](std::int64_t i) { return x[i]; }, [&weight, r](std::int64_t i) { return weight(r, i); });
  }
}

void rows_e4m3(const float* x, const std::uint8_t* w, std::int64_t k, std::int64_t num_rows, float* out) {
  rows_v16<ColumnMap::kE4M3>(x, k, num_rows, out, [=](std::int64_t r, std::int64_t i) {
    return numeric::decode_e4m3fn(w[r * k + i]);
  });
}

void rows_bf16(const float* x, const BF16* w, std::int64_t k, std::int64_t num_rows, float* out) {
  rows_v16<ColumnMap::kBf16>(x, k, num_rows, out,
                             [=](std::int64_t r, std::int64_t i) { return to_float(w[r * k + i]); });
}

void rows_f32(const float* x, const float* w, std::int64_t k, std::int64_t num_rows, std::int64_t stride, float* out) {
  rows_v16<ColumnMap::kF32>(x, k, num_rows, out, [=](std::int64_t r, std::int64_t i) { return w[r * stride + i]; });
}

void rows_f32_bf16map(const float* x, const float* w, std::int64_t k, std::int64_t num_rows, std::int64_t stride,
                      float* out) {
  rows_v16<ColumnMap::kBf16>(x, k, num_rows, out, [=](std::int64_t r, std::int64_t i) { return w[r * stride + i]; });
}

void rows_e2m1(const std::uint8_t* x, const std::uint8_t* xs, const std::uint8_t* w, const std::uint8_t* ws,
               std::int64_t k, std::int64_t num_rows, float* out) {
  const std::int64_t groups = k / kGroup;
  for (std::int64_t r = 0; r < num_rows; ++r) {
    float acc = 0.0F;
    for (std::int64_t g = 0; g < groups; ++g) {
      std::int32_t sum = 0;
      for (std::int64_t i = g * kGroup; i < (g + 1) * kGroup; ++i) {
        const int doubled = numeric::kE2M1Doubled[static_cast<std::size_t>(numeric::packed_e2m1(w + r * k / 2, i))];
        sum += kE4M3Integers[x[i]] * doubled;
      }
      const float scale = (scale_value(xs[g]) * 0x1p-10F) * scale_value(ws[r * groups + g]);
      acc = std::fma(static_cast<float>(sum), scale, acc);
    }
    out[r] = acc;
  }
}

void axpy(float a, const float* x, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = std::fma(a, x[i], y[i]);
}

void scale(float a, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] *= a;
}

void exp32(float* x, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) x[i] = numeric::exp32(x[i]);
}

void index_dot(const std::int8_t* q, const std::uint8_t* qs, const std::uint8_t* keys, std::int64_t key_stride,
               std::int64_t c, std::int64_t num_rows, float* out) {
  for (std::int64_t r = 0; r < num_rows; ++r) {
    const std::uint8_t* key = keys + r * key_stride;
    const std::uint8_t* key_scales = key + c / 2;
    float acc = 0.0F;
    for (std::int64_t g = 0; g < c / kGroup; ++g) {
      std::int32_t sum = 0;
      for (std::int64_t i = g * kGroup; i < (g + 1) * kGroup; ++i) {
        sum += q[i] * numeric::kE2M1Doubled[static_cast<std::size_t>(numeric::packed_e2m1(key, i))];
      }
      acc = std::fma(static_cast<float>(sum), (scale_value(qs[g]) * 0.25F) * scale_value(key_scales[g]), acc);
    }
    out[r] = acc;
  }
}

}  // namespace

const Kernels& scalar() {
  static constexpr Kernels kTable = {"scalar", rows_e4m3, rows_bf16, rows_f32, rows_e2m1, rows_f32_bf16map,
                                     axpy,     scale,     exp32,     index_dot};
  return kTable;
}

}  // namespace deepinfer::isa
