// Broken invariants between our own layers: `DI_CHECK` throws `CheckFailure` with file, line, expression and values.
//
// A check is never reachable from user input. It is caught at four borders only: a pool task, the engine loop, a
// request handler, and main. `DI_DCHECK` is for inner loops and disappears with NDEBUG.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace deepinfer {

class CheckFailure : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

namespace base {
[[noreturn]] void throw_check_failure(const char* file, int line, const char* expression, const std::string& values);
}  // namespace base
}  // namespace deepinfer

/// DI_CHECK(a == b, "a={} b={}", a, b): the message with the values is required.
#define DI_CHECK(condition, ...)                                                                          \
  do {                                                                                                    \
    if (!(condition)) {                                                                                   \
      ::deepinfer::base::throw_check_failure(__FILE__, __LINE__, #condition, ::fmt::format(__VA_ARGS__)); \
    }                                                                                                     \
  } while (false)

#ifdef NDEBUG
#define DI_DCHECK(condition, ...) static_cast<void>(0)
#else
#define DI_DCHECK(condition, ...) DI_CHECK(condition, __VA_ARGS__)
#endif
