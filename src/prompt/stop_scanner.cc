#include "prompt/stop_scanner.h"

#include <algorithm>
#include <utility>

namespace deepinfer::prompt {

StopScanner::StopScanner(const std::vector<std::string>& stops) {
  for (const std::string& stop : stops) {
    if (stop.empty()) continue;
    Pattern pattern{stop, std::vector<std::size_t>(stop.size(), 0)};
    for (std::size_t i = 1, border = 0; i < stop.size(); ++i) {
      while (border > 0 && stop[border] != stop[i]) border = pattern.fallback[border - 1];
      if (stop[border] == stop[i]) ++border;
      pattern.fallback[i] = border;
    }
    patterns_.push_back(std::move(pattern));
  }
}

bool StopScanner::advance(Pattern& pattern, char byte) {
  while (pattern.matched > 0 && pattern.text[pattern.matched] != byte) {
    pattern.matched = pattern.fallback[pattern.matched - 1];
  }
  if (pattern.text[pattern.matched] == byte) ++pattern.matched;
  return pattern.matched == pattern.text.size();
}

StopScanner::Output StopScanner::push(std::string_view text) {
  if (patterns_.empty()) return {std::string(text), false};
  for (const char byte : text) {
    held_ += byte;
    std::size_t longest = 0;
    for (Pattern& pattern : patterns_) {
      if (advance(pattern, byte)) longest = std::max(longest, pattern.text.size());
    }
    if (longest > 0) return {held_.substr(0, held_.size() - longest), true};
  }
  std::size_t partial = 0;
  for (const Pattern& pattern : patterns_) partial = std::max(partial, pattern.matched);
  std::string released = held_.substr(0, held_.size() - partial);
  held_.erase(0, released.size());
  return {std::move(released), false};
}

std::string StopScanner::flush() {
  for (Pattern& pattern : patterns_) pattern.matched = 0;
  return std::exchange(held_, {});
}

}  // namespace deepinfer::prompt
