// Block quantisers of activations and cache rows, and the decoders of their records. Source: numerics.md 3, 4.
//
//   format     block  codes             scale of a block        used by
//   act32      32     e4m3fn byte       ue8m0, amax / max       linear inputs, window rows, Engram rows
//   fp4_32     32     e2m1, packed      ue8m0, amax / 6         index queries and keys
//   fp4_16     16     e2m1, packed      e4m3fn, amax / 6        compressed rows
//
// Every decoded value code * scale of a finite block is exact in bf16. A block with NaN (ue8m0 formats: or infinity)
// gets a NaN scale, so the fault reaches the output. Sizes are multiples of the block; DI_CHECK otherwise.
#pragma once

#include <cstdint>
#include <span>

#include "tensor/bf16.h"

namespace deepinfer::numeric {

inline constexpr std::int64_t kAct32Block = 32;
inline constexpr std::int64_t kFp4Block32 = 32;
inline constexpr std::int64_t kFp4Block16 = 16;

/// x[n] -> codes[n], scales[n / 32]. `max` is the range, kE4M3FnMax or kTrn2Range (kIeeeE4M3Max for experiments).
void act_quant32(std::span<const BF16> x, float max, std::uint8_t* codes, std::uint8_t* scales);
/// x[n] -> packed[n / 2], scales[n / 32] (ue8m0).
void fp4_quant32(std::span<const BF16> x, std::uint8_t* packed, std::uint8_t* scales);
/// x[n] -> packed[n / 2], scales[n / 16] (e4m3fn).
void fp4_quant16(std::span<const BF16> x, std::uint8_t* packed, std::uint8_t* scales);
/// In place form of act_quant32: x becomes code * scale.
void act_requant32(std::span<BF16> x, float max);
/// act_quant32 of fp32 values (not rounded to bf16 first): numerics mode `deepinfer`.
void act_quant32(std::span<const float> x, float max, std::uint8_t* codes, std::uint8_t* scales);

/// Scale byte of a block whose largest magnitude is `amax`.
std::uint8_t act32_scale(float amax, float max);
std::uint8_t fp4_32_scale(float amax);
std::uint8_t fp4_16_scale(float amax);

/// Decoders: n values, layouts as above.
void decode_act32(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t n, float* out);
void decode_act32(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t n, BF16* out);
void decode_fp4_32(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, float* out);
void decode_fp4_32(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, BF16* out);
void decode_fp4_16(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, float* out);
void decode_fp4_16(const std::uint8_t* packed, const std::uint8_t* scales, std::int64_t n, BF16* out);

}  // namespace deepinfer::numeric
