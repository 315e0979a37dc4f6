#include "terminal.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/environ.h"
#include "tokenizer/utf8.h"

namespace deepinfer::cli {
namespace {

bool& write_failed() {
  static bool failed = false;
  return failed;
}

bool use_colour() {
  static const bool use = ::isatty(STDOUT_FILENO) != 0 && base::process_variable("NO_COLOR").empty();
  return use;
}

// Messages quote values of files, which may have any length: the middle of a very long line is left out.
std::string shortened(std::string_view text) {
  constexpr std::size_t kMostBytes = 4000;
  constexpr std::size_t kKept = 1800;  // at each end
  std::string out;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, std::min(text.find('\n'), text.size() - 1) + 1);
    text.remove_prefix(line.size());
    if (line.size() <= kMostBytes) {
      out += line;
    } else {
      out += fmt::format("{} … ({} bytes) … {}", line.substr(0, kKept), line.size(), line.substr(line.size() - kKept));
    }
  }
  return out;
}

// Code points of valid UTF-8: bytes that are no continuation.
std::size_t width(std::string_view text) {
  return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    // Streams below are open, so open() gives this number. Read only: writes fail as on a closed stream.
    if (::fcntl(stream, F_GETFD) < 0 && ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0) return;
  }
}

void print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) write_failed() = true;
}

void print_json(const base::Json& value) { print(base::dump_json(value) + "\n"); }

void complain(std::string_view text) {
  flush_output();
  std::string line = "deepinfer: ";
  tokenizer::Utf8Filter printable;  // messages may quote bytes of a broken file
  printable.push(shortened(text), line);
  printable.finish(line);
  line += "\n";
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool flush_output() {
  if (std::fflush(stdout) != 0) write_failed() = true;  // a later flush of the emptied buffer would succeed
  return !write_failed();
}

std::string inked(Ink ink, std::string_view text) {
  if (!use_colour() || ink == Ink::kPlain || text.empty()) return std::string(text);
  constexpr std::string_view kCodes[] = {"0", "2", "1", "32", "31", "36"};
  return fmt::format("\033[{}m{}\033[0m", kCodes[static_cast<std::size_t>(ink)], text);
}

bool stdin_is_terminal() { return ::isatty(STDIN_FILENO) != 0; }
bool stderr_is_terminal() { return ::isatty(STDERR_FILENO) != 0; }

std::string table(const std::vector<std::vector<std::string>>& rows) {
  std::vector<std::size_t> widths;
  for (const auto& row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width(row[i]));
  }
  std::string out;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += row[i];
      if (i + 1 < row.size()) out += std::string(widths[i] - width(row[i]) + 2, ' ');
    }
    out += "\n";
  }
  return out;
}

std::string human_bytes(double bytes) {
  constexpr std::string_view kUnits[] = {"B", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit < 4; ++unit) bytes /= 1000;
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.2f} {}", bytes, kUnits[unit]);
}

Progress::Progress(std::string title) : title_(std::move(title)), start_(std::chrono::steady_clock::now()) {}

void Progress::update(std::string_view stage, double done) {
  if (!stderr_is_terminal() || std::chrono::steady_clock::now() - start_ < std::chrono::seconds(1)) return;
  shown_ = true;
  const auto filled = static_cast<std::size_t>(std::clamp(done, 0.0, 1.0) * 30);
  std::fprintf(stderr, "\r%s [%s%s] %3.0f %% %-24.*s", title_.c_str(), std::string(filled, '#').c_str(),
               std::string(30 - filled, ' ').c_str(), 100 * done,
               static_cast<int>(std::min<std::size_t>(stage.size(), 24)), stage.data());
}

Progress::~Progress() {
  if (shown_) std::fprintf(stderr, "\r\033[K");
}

double now_s() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

}  // namespace deepinfer::cli
