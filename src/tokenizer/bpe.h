// Byte-level BPE: merges inside one piece, lowest rank first, leftmost on equal rank.
//
// A piece is a doubly linked list of symbols; candidate pairs wait in a heap keyed by (rank, position). Every merge
// adds at most two candidates, so a piece of n bytes costs O(n log n): 100,000 equal characters take milliseconds.
// Source: tokenizer-and-prompts.md 1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tokenizer/token_id.h"

namespace deepinfer::tokenizer {

struct Merge {
  TokenId left;
  TokenId right;
  TokenId merged;
};

class BpeModel {
 public:
  BpeModel() = default;
  /// `byte_ids[b]` is the token of the single byte b; `merges` are in rank order. Of equal pairs the first counts.
  BpeModel(const std::array<TokenId, 256>& byte_ids, std::vector<Merge> merges);

  /// Working memory of `encode_piece`, reused between pieces.
  struct Scratch {
    struct Symbol {
      TokenId id;
      std::int32_t previous;  ///< index, −1 at the start
      std::int32_t next;      ///< index, −1 at the end
      bool alive;
    };
    std::vector<Symbol> symbols;
    std::vector<std::uint64_t> heap;  ///< rank << 32 | position of the left symbol
  };

  /// Appends the ids of `piece` (any bytes, shorter than 2 GiB) to `out`.
  void encode_piece(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const;

 private:
  struct Slot {
    std::uint64_t pair;
    std::uint32_t rank;
  };

  void insert(std::uint64_t pair, std::uint32_t rank);
  std::optional<std::uint32_t> rank_of(TokenId left, TokenId right) const;
  std::size_t home_of(std::uint64_t pair) const;
  void push_candidate(Scratch& scratch, std::int32_t left) const;
  void apply_candidate(std::uint64_t candidate, Scratch& scratch) const;

  std::array<TokenId, 256> byte_ids_{};
  std::vector<Merge> merges_;
  std::vector<Slot> slots_;  // open addressing with linear probing, at most half full, power of two
  int shift_ = 64;
};

}  // namespace deepinfer::tokenizer
