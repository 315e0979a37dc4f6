#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <array>

#include "base/error.h"

namespace deepinfer::base {
namespace {

constexpr std::array<std::string_view, 6> kNames = {"trace", "debug", "info", "warn", "error", "off"};
constexpr std::array<spdlog::level::level_enum, 6> kLevels = {spdlog::level::trace, spdlog::level::debug,
                                                              spdlog::level::info,  spdlog::level::warn,
                                                              spdlog::level::err,   spdlog::level::off};

spdlog::logger& logger() {
  static const auto instance = [] {
    auto made = spdlog::stderr_logger_mt("deepinfer");
    made->set_pattern("%H:%M:%S.%e %l %v");
    made->set_level(spdlog::level::warn);
    return made;
  }();
  return *instance;
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i) {
    if (kNames[i] == name) return static_cast<LogLevel>(i);
  }
  return errorf(ErrorCode::kInvalidArgument, "log level \"{}\" is not one of trace, debug, info, warn, error, off",
                name);
}

void set_log_level(LogLevel level) { logger().set_level(kLevels[static_cast<std::size_t>(level)]); }
bool log_enabled(LogLevel level) { return logger().should_log(kLevels[static_cast<std::size_t>(level)]); }
void log_line(LogLevel level, std::string_view text) {
  logger().log(kLevels[static_cast<std::size_t>(level)], "{}", text);
}

}  // namespace deepinfer::base
