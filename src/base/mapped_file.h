// A read-only, private memory mapping of a whole file.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "deepinfer/status.h"

namespace deepinfer::base {

class MappedFile {
 public:
  /// Maps `path`. An empty file maps to an empty span. Errors: kNotFound, kResourceExhausted.
  static Result<MappedFile> open(const std::string& path);

  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;
  ~MappedFile();

  /// Lives as long as this object.
  std::span<const std::byte> bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
  std::string path_;
};

}  // namespace deepinfer::base
