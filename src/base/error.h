// Helpers around `Result<T>`: early return with context, and formatted errors.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "deepinfer/status.h"

namespace deepinfer {

/// errorf(ErrorCode::kNotFound, "shard {} is missing", name)
template <typename... Args>
tl::unexpected<Error> errorf(ErrorCode code, fmt::format_string<Args...> format, Args&&... args) {
  return make_error(code, fmt::format(format, std::forward<Args>(args)...));
}

/// Adds one level of context ("loading layers.3") to an error on its way out.
inline tl::unexpected<Error> with_context(Error error, std::string context) {
  error.context.push_back(std::move(context));
  return tl::unexpected<Error>(std::move(error));
}

}  // namespace deepinfer

#define DI_CONCAT_INNER(a, b) a##b
#define DI_CONCAT(a, b) DI_CONCAT_INNER(a, b)

/// DI_TRY(expr): returns the error of a Status/Result expression from the enclosing function.
#define DI_TRY(...)                                                                \
  do {                                                                             \
    auto di_try_result = (__VA_ARGS__);                                            \
    if (!di_try_result) return ::tl::unexpected(std::move(di_try_result).error()); \
  } while (false)

/// DI_ASSIGN(auto x, expr): unwraps a Result or returns its error.
#define DI_ASSIGN_IMPL(tmp, decl, ...)                       \
  auto tmp = (__VA_ARGS__);                                  \
  if (!tmp) return ::tl::unexpected(std::move(tmp).error()); \
  decl = std::move(*tmp)
#define DI_ASSIGN(decl, ...) DI_ASSIGN_IMPL(DI_CONCAT(di_assign_, __LINE__), decl, __VA_ARGS__)
