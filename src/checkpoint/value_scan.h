// Scans of weight values: bytes that can only be damage. Source: checkpoint.md 6, reliability.md 8.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "checkpoint/weight_table.h"

namespace deepinfer::checkpoint {

/// Codes 0x7F and 0xFF.
std::int64_t count_e4m3_nan(std::span<const std::byte> bytes);
/// Code 0xFF.
std::int64_t count_e8m0_nan(std::span<const std::byte> bytes);
/// Scales above 2^40 other than NaN: no trained weight has them, and products with activations overflow.
std::int64_t count_e8m0_huge(std::span<const std::byte> bytes);
/// Infinities and NaN. `bytes` may be unaligned; a trailing partial element is not read.
std::int64_t count_nonfinite_bf16(std::span<const std::byte> bytes);
std::int64_t count_nonfinite_f32(std::span<const std::byte> bytes);

/// A scale tensor of zero bytes only: a hole in the file, not a quantiser's output.
bool all_zero(std::span<const std::byte> bytes);

/// What is wrong with the values of one tensor, in words; empty when nothing is. Every fp4 code is valid.
std::string scan_values(WeightKind kind, std::span<const std::byte> bytes);

}  // namespace deepinfer::checkpoint
