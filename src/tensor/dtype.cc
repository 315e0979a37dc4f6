#include "tensor/dtype.h"

#include <array>

namespace deepinfer {
namespace {

struct Row {
  std::string_view name;
  std::int64_t bytes;
  std::string_view stablehlo;
  std::string_view safetensors;
};
constexpr Row kRows[] = {
#define DI_DTYPE(enumerator, name, bytes, stablehlo, safetensors) {name, bytes, stablehlo, safetensors},
#include "tensor/dtype.def"
#undef DI_DTYPE
};

const Row& row(DType dtype) { return kRows[static_cast<std::size_t>(dtype)]; }

std::optional<DType> find(std::string_view Row::*field, std::string_view name) {
  for (std::size_t i = 0; i < std::size(kRows); ++i) {
    if (!name.empty() && kRows[i].*field == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

}  // namespace

std::string_view dtype_name(DType dtype) { return row(dtype).name; }
std::int64_t dtype_bytes(DType dtype) { return row(dtype).bytes; }
std::string_view dtype_stablehlo(DType dtype) { return row(dtype).stablehlo; }
std::string_view dtype_safetensors(DType dtype) { return row(dtype).safetensors; }
std::optional<DType> dtype_from_name(std::string_view name) { return find(&Row::name, name); }
std::optional<DType> dtype_from_safetensors(std::string_view name) { return find(&Row::safetensors, name); }

}  // namespace deepinfer
