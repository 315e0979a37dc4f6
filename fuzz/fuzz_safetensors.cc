// Container parser over arbitrary bytes: no crash, and every entry lies inside the input.
#include <cstdint>
#include <cstdlib>
#include <span>

#include "checkpoint/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto file = std::as_bytes(std::span(data, size));
  deepinfer::checkpoint::Problems problems;
  const auto content = deepinfer::checkpoint::parse_safetensors(file, problems);
  for (const auto& tensor : content.tensors) {
    const bool inside =
        tensor.bytes.data() >= file.data() && tensor.offset >= 8 &&
        tensor.offset + static_cast<std::int64_t>(tensor.bytes.size()) <= static_cast<std::int64_t>(size);
    if (!inside) std::abort();
  }
  return 0;
}
