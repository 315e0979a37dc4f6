// Stop strings over a growing answer: earliest end wins, then the longest.
//
// One Knuth-Morris-Pratt state a string; a byte costs amortised O(number of strings), and the largest state is exactly
// the number of bytes that have to be held back. Source: tokenizer-and-prompts.md 5.1, engine.md 14.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace deepinfer::prompt {

class StopScanner {
 public:
  /// Empty strings are ignored.
  explicit StopScanner(const std::vector<std::string>& stops);

  struct Output {
    std::string text;      ///< released: certain not to be part of a stop string
    bool stopped = false;  ///< a stop string was found; the text ends before it
  };
  Output push(std::string_view text);
  /// Releases what is held and forgets partial matches.
  std::string flush();

 private:
  struct Pattern {
    std::string text;
    std::vector<std::size_t> fallback;  // fallback[i]: longest proper border of the first i + 1 bytes
    std::size_t matched = 0;
  };
  static bool advance(Pattern& pattern, char byte);

  std::vector<Pattern> patterns_;
  std::string held_;
};

}  // namespace deepinfer::prompt
