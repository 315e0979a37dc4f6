#include "base/error.h"

#include "base/check.h"

namespace deepinfer {

std::string_view error_code_name(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument: return "kInvalidArgument";
    case ErrorCode::kNotFound: return "kNotFound";
    case ErrorCode::kDataCorruption: return "kDataCorruption";
    case ErrorCode::kUnsupported: return "kUnsupported";
    case ErrorCode::kResourceExhausted: return "kResourceExhausted";
    case ErrorCode::kUnavailable: return "kUnavailable";
    case ErrorCode::kDeadlineExceeded: return "kDeadlineExceeded";
    case ErrorCode::kCancelled: return "kCancelled";
    case ErrorCode::kInternal: return "kInternal";
  }
  return "kInternal";
}

int exit_code_of(ErrorCode code) {
  switch (code) {
    case ErrorCode::kInvalidArgument:
    case ErrorCode::kNotFound:
    case ErrorCode::kDataCorruption:
    case ErrorCode::kUnsupported: return 3;
    case ErrorCode::kResourceExhausted:
    case ErrorCode::kUnavailable: return 4;
    case ErrorCode::kDeadlineExceeded:
    case ErrorCode::kCancelled:
    case ErrorCode::kInternal: return 1;
  }
  return 1;
}

std::string Error::to_string() const {
  std::string text;
  for (auto it = context.rbegin(); it != context.rend(); ++it) text += *it + ": ";
  return text + message;
}

namespace base {
void throw_check_failure(const char* file, int line, const char* expression, const std::string& values) {
  throw CheckFailure(fmt::format("{}:{}: check failed: {} ({})", file, line, expression, values));
}
}  // namespace base
}  // namespace deepinfer
