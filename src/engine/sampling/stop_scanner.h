// Stop strings over a growing text: an Aho-Corasick automaton over bytes.
//
// The match that ends first wins, of those the longest. The depth of the automaton's state is exactly the number of
// bytes that may still become a stop string; they are held back. A byte costs amortised O(log 256), whatever the number
// of strings. Source: engine.md 14.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/request.h"

namespace deepinfer::engine {

class StopScanner {
 public:
  /// Strings are not empty (validate). `where` says whether a matched string belongs to the released text.
  StopScanner(const std::vector<std::string>& stops, StopText where);

  struct Output {
    std::string text;                 ///< certain not to be cut
    std::optional<std::size_t> stop;  ///< index of the string found; nothing may be pushed after it
  };
  Output push(std::string_view text);
  /// The bytes held back, at the end of a text without a match.
  std::string finish();

 private:
  struct Node {
    std::vector<std::pair<std::uint8_t, std::uint32_t>> children;  // ascending by byte
    std::uint32_t fail = 0;
    std::uint32_t depth = 0;
    std::optional<std::size_t> match;  // longest string that ends here
    std::uint32_t match_bytes = 0;
  };

  void insert(std::string_view text, std::size_t index);
  void link();
  std::optional<std::uint32_t> child(std::uint32_t node, std::uint8_t byte) const;
  std::uint32_t next(std::uint32_t node, std::uint8_t byte) const;

  std::vector<Node> nodes_;
  std::uint32_t state_ = 0;
  std::string held_;
  StopText where_;
};

}  // namespace deepinfer::engine
