// Added tokens: literals with ids of their own, their search in raw text, and the V4 → V4.1 renames.
//
// Added tokens are matched before pre-tokenization, leftmost and longest, and only when a caller asks for it: text of a
// user must never become a structure token. Source: tokenizer-and-prompts.md 1, 1.1, 3.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tokenizer/token_id.h"

namespace deepinfer::tokenizer {

struct AddedToken {
  TokenId id;
  std::string literal;
  bool special;  ///< left out by decoding without special tokens; has no other meaning
};

/// A trie over the literals' bytes. Cost of a search: O(text · longest literal), in practice O(text).
class AddedTokenMatcher {
 public:
  struct Match {
    std::size_t begin;
    std::size_t end;
    TokenId id;
  };

  AddedTokenMatcher() : nodes_(1) {}
  explicit AddedTokenMatcher(const std::vector<AddedToken>& tokens);

  /// First match at or after byte `from`: the leftmost, of those the longest.
  std::optional<Match> find(std::string_view text, std::size_t from) const;

 private:
  struct Node {
    std::vector<std::pair<char, std::uint32_t>> children;
    std::optional<TokenId> id;
  };

  void insert(const AddedToken& token);
  std::optional<std::uint32_t> child(std::uint32_t node, char byte) const;
  std::optional<Match> longest_at(std::string_view text, std::size_t begin) const;

  std::vector<Node> nodes_;  // nodes_[0] is the root
};

/// Gives the nine ids that differ between the V4 and the V4.1 vocabulary (128799, 129264–129270, 129279) their V4.1
/// literals if `tokens` are those of the V4 file: 129,280 ids, and 128799 is "<｜place▁holder▁no▁799｜>". Flags stay.
/// Returns whether it did.
bool rename_v4_to_v41(std::size_t vocab_size, std::vector<AddedToken>& tokens);

}  // namespace deepinfer::tokenizer
