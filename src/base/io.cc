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

namespace {

namespace fs = std::filesystem;

// The path behind links: a rename would put a file in the place of the link itself. Links to nothing count too.
fs::path behind_links(fs::path path) {
  constexpr int kMostLinks = 40;  // as the kernel
  std::error_code error;
  for (int i = 0; i < kMostLinks; ++i) {
    const fs::path target = fs::read_symlink(path, error);
    if (error) break;
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path;
}

bool write_bytes(const fs::path& path, std::string_view bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  out.close();
  return static_cast<bool>(out);
}

}  // namespace

Status write_file(const std::string& path, std::string_view bytes) {
  const auto failed = [&](const std::string& reason) {
    return errorf(ErrorCode::kUnavailable, "cannot write {}: {}", path, reason);
  };
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (fs::is_directory(status)) return failed("it is a folder");
  if (fs::exists(status) && !fs::is_regular_file(status)) {
    // A device or pipe receives the bytes; a rename would replace it, /dev/null included.
    if (write_bytes(path, bytes)) return {};
    return failed(std::strerror(errno));
  }
  const fs::path target = behind_links(path);
  const std::string temporary = fmt::format("{}.tmp.{}", target.string(), ::getpid());
  const bool written = write_bytes(temporary, bytes);
  std::string reason = std::strerror(errno);
  if (written) {
    fs::rename(temporary, target, error);
    if (!error) return {};
    reason = error.message();
  }
  fs::remove(temporary, error);
  return failed(reason);
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
