#include "base/io.h"

#include <openssl/evp.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/error.h"
#include "base/mapped_file.h"

namespace deepinfer::base {

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  DI_ASSIGN(const MappedFile file, MappedFile::open(path));
  if (file.bytes().size() > max_bytes) {
    return errorf(ErrorCode::kResourceExhausted, "{} has {} bytes, at most {} are accepted", path, file.bytes().size(),
                  max_bytes);
  }
  return std::string(reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size());
}

Status write_file(const std::string& path, std::string_view bytes) {
  const std::string temporary = fmt::format("{}.tmp.{}", path, ::getpid());
  std::ofstream out(temporary, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  std::error_code error;
  if (out) std::filesystem::rename(temporary, path, error);
  if (out && !error) return {};
  const std::string reason = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(temporary, error);
  return errorf(ErrorCode::kUnavailable, "cannot write {}: {}", path, reason);
}

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, 32> digest{};
  EVP_Digest(bytes.data(), bytes.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  std::string hex;
  for (const unsigned char byte : digest) hex += fmt::format("{:02x}", byte);
  return hex;
}

Result<std::string> sha256_file(const std::string& path) {
  DI_ASSIGN(const MappedFile file, MappedFile::open(path));
  return sha256_hex({reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

}  // namespace deepinfer::base
