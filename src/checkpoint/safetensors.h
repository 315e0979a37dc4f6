// The safetensors container: one file of named tensors. Source: checkpoint.md 2 and 6, reliability.md 8.
//
// Layout: 8 bytes little-endian header length N, N bytes of JSON (possibly padded with spaces), tensor bytes. Files are
// untrusted: every bound is compared with the file size before a byte is read, every product is checked, and the tensor
// ranges must tile the data area exactly (no gap, no overlap, nothing after the last one). Tensors may have any byte
// alignment; readers use unaligned loads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mapped_file.h"
#include "checkpoint/problems.h"
#include "deepinfer/status.h"
#include "tensor/tensor.h"

namespace deepinfer::checkpoint {

/// Largest accepted header. The released shards need about 0.3 MB.
inline constexpr std::uint64_t kMaxHeaderBytes = 100'000'000;
/// Most dimensions of a tensor in a header.
inline constexpr std::size_t kMaxHeaderRank = 8;

struct TensorEntry {
  std::string name;
  std::string dtype;                 ///< as written; may be unknown to this build ("F8_E4M3", "I8", "F4", ...)
  std::vector<std::int64_t> shape;   ///< outermost first; empty = scalar
  std::int64_t offset = 0;           ///< of the first byte, from the start of the file
  std::span<const std::byte> bytes;  ///< lives as long as the mapping it was parsed from
};

struct SafetensorsContent {
  std::vector<std::pair<std::string, std::string>> metadata;  ///< `__metadata__`, in file order
  std::vector<TensorEntry> tensors;                           ///< in header order
  std::int64_t data_bytes = 0;                                ///< sum of all tensor bytes
};

/// Bits of one element of a safetensors dtype name; 0 when the name is unknown (accepted as long as it is not used).
int safetensors_dtype_bits(std::string_view dtype);

/// Parses a file image. Every violation goes to `problems` (kDataCorruption); entries that passed are returned anyway.
SafetensorsContent parse_safetensors(std::span<const std::byte> file, Problems& problems);

/// A mapped file; owns the mapping that its entries point into.
class SafetensorsFile {
 public:
  /// Errors: kNotFound, kResourceExhausted, kDataCorruption listing every violation.
  static Result<SafetensorsFile> open(const std::string& path);

  const std::vector<TensorEntry>& tensors() const { return content_.tensors; }
  const SafetensorsContent& content() const { return content_; }
  const std::string& path() const { return file_.path(); }
  std::int64_t file_bytes() const { return static_cast<std::int64_t>(file_.bytes().size()); }
  /// nullptr when absent. Linear search: for files with a handful of tensors.
  const TensorEntry* find(std::string_view name) const;
  /// A tensor of a type the engine computes with. The reference lives as long as this object and may be unaligned.
  /// Errors: kNotFound, kUnsupported (dtype or rank above 6), kInvalidArgument (zero extent).
  Result<ConstTensorRef> tensor(std::string_view name) const;

 private:
  base::MappedFile file_;
  SafetensorsContent content_;
};

struct NamedTensor {
  std::string name;
  ConstTensorRef tensor;  ///< without segments
};

struct RawTensor {
  std::string name;
  std::string dtype;  ///< safetensors spelling
  std::vector<std::int64_t> shape;
  std::span<const std::byte> bytes;
};

/// File image with the tensors in the given order; the header is padded with spaces to a multiple of 8 bytes.
std::string safetensors_image(std::span<const RawTensor> tensors);
/// Writes a file atomically. Errors: kInvalidArgument (duplicate name, dtype without a safetensors name, segments),
/// and those of base::write_file.
Status write_safetensors(const std::string& path, std::span<const NamedTensor> tensors);

}  // namespace deepinfer::checkpoint
