// The three block formats of quantised activations and cache records, and their encoders and decoders by format.
//
// One place maps the words of attributes (fmt, block, scale) and of cache kinds (swa, ca, ica) to a format, so that
// quant_act, dequant and kv_pack agree. Records hold all code bytes first, then all scale bytes.
// Source: numerics.md 1, 3; graph.md 4.2.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "graph/attrs.h"
#include "tensor/numeric/quantise.h"

namespace deepinfer::ops {

enum class QuantFormat : std::uint8_t {
  kAct32,   ///< e4m3fn bytes, ue8m0 scale per 32 (activations, window rows "swa")
  kFp4x32,  ///< packed e2m1, ue8m0 scale per 32 (index keys "ica")
  kFp4x16,  ///< packed e2m1, e4m3fn scale per 16 (compressed rows "ca")
};

constexpr std::int64_t quant_block(QuantFormat format) { return format == QuantFormat::kFp4x16 ? 16 : 32; }
/// Bytes of n codes.
constexpr std::int64_t code_bytes(QuantFormat format, std::int64_t n) {
  return format == QuantFormat::kAct32 ? n : n / 2;
}
/// Bytes of n values with their scales: 528 (swa, 512), 288 (ca, 512), 68 (ica, 128).
constexpr std::int64_t record_bytes(QuantFormat format, std::int64_t n) {
  return code_bytes(format, n) + n / quant_block(format);
}

/// The format of attributes `fmt`, `block`, `scale`; empty when no such format exists.
inline std::optional<QuantFormat> quant_format(const graph::Attrs& attrs) {
  const bool e4m3 = attrs.word("fmt") == "e4m3";
  if (!e4m3 && attrs.word("fmt") != "e2m1") return {};
  const std::int64_t block = attrs.integer("block");
  if (block == 32 && attrs.word("scale") == "ue8m0") return e4m3 ? QuantFormat::kAct32 : QuantFormat::kFp4x32;
  if (block == 16 && attrs.word("scale") == "e4m3" && !e4m3) return QuantFormat::kFp4x16;
  return {};
}
inline constexpr std::string_view kQuantFormats =
    "fmt, block, scale must be e4m3, 32, ue8m0 or e2m1, 32, ue8m0 or e2m1, 16, e4m3";

/// The format of a packed cache kind; empty for other words.
inline std::optional<QuantFormat> cache_format(std::string_view kind) {
  if (kind == "swa") return QuantFormat::kAct32;
  if (kind == "ca") return QuantFormat::kFp4x16;
  if (kind == "ica") return QuantFormat::kFp4x32;
  return {};
}

/// x -> codes, scales. `max` is the e4m3 range (448, 224, 240); the fp4 formats ignore it.
inline void quantise(QuantFormat format, std::span<const BF16> x, float max, std::uint8_t* codes,
                     std::uint8_t* scales) {
  switch (format) {
    case QuantFormat::kAct32: return numeric::act_quant32(x, max, codes, scales);
    case QuantFormat::kFp4x32: return numeric::fp4_quant32(x, codes, scales);
    case QuantFormat::kFp4x16: return numeric::fp4_quant16(x, codes, scales);
  }
}

/// codes, scales -> n values, exact in both types (T = BF16 or float).
template <typename T>
void dequantise(QuantFormat format, const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t n, T* out) {
  switch (format) {
    case QuantFormat::kAct32: return numeric::decode_act32(codes, scales, n, out);
    case QuantFormat::kFp4x32: return numeric::decode_fp4_32(codes, scales, n, out);
    case QuantFormat::kFp4x16: return numeric::decode_fp4_16(codes, scales, n, out);
  }
}

/// One whole record -> n values.
template <typename T>
void decode_record(QuantFormat format, const std::uint8_t* record, std::int64_t n, T* out) {
  dequantise(format, record, record + code_bytes(format, n), n, out);
}

}  // namespace deepinfer::ops
