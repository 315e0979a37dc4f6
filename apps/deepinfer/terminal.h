// What the terminal may show: colours, progress, tables, and the two output streams.
//
// Results go to standard output, everything else to standard error. Colours need a terminal and no NO_COLOR; progress
// needs standard error to be a terminal and work that lasts longer than a second (cli.md).
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"

namespace deepinfer::cli {

/// Opens /dev/null for standard streams that the caller closed: a file opened later must not get their numbers and then
/// receive messages. Writing to a closed standard output still fails.
void occupy_standard_streams();
/// Writes to standard output.
void print(std::string_view text);
template <typename... Args>
void printf_line(fmt::format_string<Args...> format, Args&&... args) {
  print(fmt::format(format, std::forward<Args>(args)...) + "\n");
}
/// One JSON text and a newline on standard output.
void print_json(const base::Json& value);
/// "deepinfer: <text>" on standard error.
void complain(std::string_view text);
/// Flushes standard output; false when something could not be written.
bool flush_output();

enum class Ink : unsigned char { kPlain, kDim, kBold, kGreen, kRed, kCyan };
/// `text` in a colour if standard output is a terminal without NO_COLOR, else unchanged.
std::string inked(Ink ink, std::string_view text);
bool stdin_is_terminal();
bool stderr_is_terminal();

/// Left-aligned first column, the others as given; two blanks between columns.
std::string table(const std::vector<std::vector<std::string>>& rows);
/// "1.5 GB", "720 B".
std::string human_bytes(double bytes);

/// A line on standard error that is rewritten in place; silent during the first second.
class Progress {
 public:
  explicit Progress(std::string title);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  /// `done` from 0 to 1.
  void update(std::string_view stage, double done);

 private:
  std::string title_;
  std::chrono::steady_clock::time_point start_;
  bool shown_ = false;
};

/// Seconds since an arbitrary start.
double now_s();

}  // namespace deepinfer::cli
