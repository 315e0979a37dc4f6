// Expected failures as values: the error codes, `Error`, and `Result<T>`.
//
// Anything that a user, a file, a peer or a device can cause is returned as a `Result`; messages name the thing, the
// value found and the values accepted. Bugs inside the library throw `deepinfer::CheckFailure` (base/check.h).
// Source: style.md 8, cli.md "Rules for every command".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <tl/expected.hpp>

namespace deepinfer {

enum class ErrorCode : std::uint8_t {
  kInvalidArgument,    ///< wrong usage of an option, a field or a request
  kNotFound,           ///< a named file, tensor or entry does not exist
  kDataCorruption,     ///< a file or message contradicts itself
  kUnsupported,        ///< understood, but not implemented by this build
  kResourceExhausted,  ///< memory, descriptors or a stated limit
  kUnavailable,        ///< a device, plugin or peer is missing
  kDeadlineExceeded,   ///< a time-out
  kCancelled,          ///< the caller gave up
  kInternal,           ///< a bug that was caught at a border
};

/// Spelling used in messages and JSON, e.g. "kNotFound".
std::string_view error_code_name(ErrorCode code);

/// Process exit code of an error (cli.md): 3 bad input, 4 resource not available, 1 otherwise.
/// Wrong usage of the command line itself is 2 and decided by the command line.
int exit_code_of(ErrorCode code);

struct [[nodiscard]] Error {
  ErrorCode code = ErrorCode::kInternal;
  std::string message;                ///< what was found and what is accepted
  std::vector<std::string> context;   ///< outermost last: "loading layers.3.ffn.gate"

  /// "outer: inner: message".
  std::string to_string() const;
};

template <typename T>
using Result = tl::expected<T, Error>;
using Status = Result<void>;

inline tl::unexpected<Error> make_error(ErrorCode code, std::string message) {
  return tl::unexpected<Error>(Error{code, std::move(message), {}});
}

}  // namespace deepinfer
