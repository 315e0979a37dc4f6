// The hot inner loops of all ops, one table per instruction set, chosen once at start.
//
// Every entry computes exactly the bits that its comment defines: "V16 (x map)" = sixteen fp32 fma chains over the
// columns listed in numerics.md 5.2 and the fixed tree, K padded with zeros to a full block. The scalar table is the
// definition; every other table is tested against it bit for bit. Rows are independent, so callers split them over
// threads freely.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "deepinfer/status.h"
#include "tensor/bf16.h"

namespace deepinfer::isa {

struct Kernels {
  std::string_view name;  ///< "scalar", "avx2", "avx512"

  /// out[r] = V16 (e4m3 map) of x[k] * e4m3fn(w[r, k]); w row-major with row stride k; x already holds the scales.
  void (*rows_e4m3)(const float* x, const std::uint8_t* w, std::int64_t k, std::int64_t num_rows, float* out);
  /// out[r] = V16 (bf16 map) of x[k] * bf16(w[r, k]).
  void (*rows_bf16)(const float* x, const BF16* w, std::int64_t k, std::int64_t num_rows, float* out);
  /// out[r] = V16 (f32 map) of x[k] * w[r, k]; rows are `stride` floats apart.
  void (*rows_f32)(const float* x, const float* w, std::int64_t k, std::int64_t num_rows, std::int64_t stride,
                   float* out);
  /// Class A (numerics.md 5.1): e4m3 codes x[k] with ue8m0 scales xs[k/32] times packed e2m1 w[r, k/2] with ue8m0
  /// ws[r, k/32]: exact integer group dots, one fma chain over groups. out is fp32 before rounding. k % 32 == 0.
  void (*rows_e2m1)(const std::uint8_t* x, const std::uint8_t* xs, const std::uint8_t* w, const std::uint8_t* ws,
                    std::int64_t k, std::int64_t num_rows, float* out);
  /// out[r] = V16 (bf16 map) of x[k] * w[r, k] with both operands in fp32; rows `stride` floats apart
  /// (attention scores over decoded rows, sums of squares with x == w).
  void (*rows_f32_bf16map)(const float* x, const float* w, std::int64_t k, std::int64_t num_rows, std::int64_t stride,
                           float* out);
  /// y[i] = fma(a, x[i], y[i]).
  void (*axpy)(float a, const float* x, float* y, std::int64_t n);
  /// y[i] *= a.
  void (*scale)(float a, float* y, std::int64_t n);
  /// x[i] = exp32(x[i]) (numerics.md 9).
  void (*exp32)(float* x, std::int64_t n);
  /// Index dot of one query head with num_rows keys: q 2*e2m1 values as signed bytes [c], keys packed e2m1 at
  /// `keys + r * key_stride` with their c/32 ue8m0 scale bytes directly behind the c/2 code bytes; qs the query's ue8m0
  /// scales. out[r] = sum over groups ascending, in fp32, of float(exact integer / 4) * 2^(eq + ek).
  void (*index_dot)(const std::int8_t* q, const std::uint8_t* qs, const std::uint8_t* keys, std::int64_t key_stride,
                    std::int64_t c, std::int64_t num_rows, float* out);
};

const Kernels& scalar();
/// Tables usable on this machine, slowest first; the scalar one always is there.
std::span<const Kernels* const> available();
/// The table named by DEEPINFER_CPU_ISA or --isa ("" = the fastest). Errors: kInvalidArgument listing the names
/// (known), kUnavailable when this CPU lacks it.
Result<const Kernels*> choose(std::string_view name);

}  // namespace deepinfer::isa
