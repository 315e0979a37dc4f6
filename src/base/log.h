// Logging: one process-wide sink on standard error, formatted with fmt. log.cc is the only file that includes spdlog.
//
// Libraries log through DI_LOG; nothing is printed below `info` unless the level is lowered.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "deepinfer/status.h"

namespace deepinfer::base {

enum class LogLevel : int { kTrace, kDebug, kInfo, kWarn, kError, kOff };

/// "trace" ... "off". Errors: kInvalidArgument listing the accepted names.
Result<LogLevel> parse_log_level(std::string_view name);
void set_log_level(LogLevel level);
bool log_enabled(LogLevel level);
void log_line(LogLevel level, std::string_view text);

}  // namespace deepinfer::base

#define DI_LOG(level, ...)                                                                         \
  do {                                                                                             \
    if (::deepinfer::base::log_enabled(::deepinfer::base::LogLevel::level)) {                      \
      ::deepinfer::base::log_line(::deepinfer::base::LogLevel::level, ::fmt::format(__VA_ARGS__)); \
    }                                                                                              \
  } while (false)
