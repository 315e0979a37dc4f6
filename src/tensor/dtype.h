// Element types. Names, sizes and foreign spellings come from one table, dtype.def.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace deepinfer {

enum class DType : std::uint8_t {
#define DI_DTYPE(enumerator, name, bytes, stablehlo, safetensors) enumerator,
#include "tensor/dtype.def"
#undef DI_DTYPE
};

std::string_view dtype_name(DType dtype);         ///< "bf16": graph text, messages
std::int64_t dtype_bytes(DType dtype);            ///< bytes of one element
std::string_view dtype_stablehlo(DType dtype);    ///< "bf16", "ui8", "f8E4M3FN"
std::string_view dtype_safetensors(DType dtype);  ///< "BF16"; empty where that format has no name
std::optional<DType> dtype_from_name(std::string_view name);
std::optional<DType> dtype_from_safetensors(std::string_view name);

constexpr bool is_float(DType dtype) {
  return dtype == DType::kBF16 || dtype == DType::kF16 || dtype == DType::kF32 || dtype == DType::kF64;
}
/// Types that exist in host graphs only (graph.md 1.1).
constexpr bool is_host_only(DType dtype) {
  return dtype == DType::kS64 || dtype == DType::kU64 || dtype == DType::kF64;
}

}  // namespace deepinfer
