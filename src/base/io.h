// Whole-file reading and writing. Files appear by rename, never half written.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::base {

/// Reads a whole file of at most `max_bytes`. Errors: kNotFound, kResourceExhausted (larger).
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = std::size_t{1} << 30);

/// Writes to "<path>.tmp.<pid>", then renames; a link stays and its target is written, a device or pipe receives the
/// bytes in place. Errors: kUnavailable with the system's reason; no file is left behind.
Status write_file(const std::string& path, std::string_view bytes);

/// Lower-case hex SHA-256 of `bytes`.
std::string sha256_hex(std::string_view bytes);
/// SHA-256 of a file's content. Errors as read_file, but of any size (mapped).
Result<std::string> sha256_file(const std::string& path);

}  // namespace deepinfer::base
