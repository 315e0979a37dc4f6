#include "tokenizer/bpe.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "base/check.h"

namespace deepinfer::tokenizer {
namespace {

constexpr std::uint64_t kEmpty = std::numeric_limits<std::uint64_t>::max();

std::uint64_t pair_of(TokenId left, TokenId right) {
  return (std::uint64_t{static_cast<std::uint32_t>(left)} << 32) | static_cast<std::uint32_t>(right);
}

}  // namespace

BpeModel::BpeModel(const std::array<TokenId, 256>& byte_ids, std::vector<Merge> merges)
    : byte_ids_(byte_ids), merges_(std::move(merges)) {
  const std::size_t capacity = std::bit_ceil(std::max<std::size_t>(2, merges_.size() * 2));
  slots_.assign(capacity, {kEmpty, 0});
  shift_ = 64 - std::countr_zero(capacity);
  for (std::size_t rank = 0; rank < merges_.size(); ++rank) {
    insert(pair_of(merges_[rank].left, merges_[rank].right), static_cast<std::uint32_t>(rank));
  }
}

std::size_t BpeModel::home_of(std::uint64_t pair) const {
  return static_cast<std::size_t>((pair * 0x9E3779B97F4A7C15u) >> shift_);  // Fibonacci hashing
}

void BpeModel::insert(std::uint64_t pair, std::uint32_t rank) {
  std::size_t at = home_of(pair);
  while (slots_[at].pair != kEmpty) {
    if (slots_[at].pair == pair) return;
    at = (at + 1) & (slots_.size() - 1);
  }
  slots_[at] = {pair, rank};
}

std::optional<std::uint32_t> BpeModel::rank_of(TokenId left, TokenId right) const {
  const std::uint64_t pair = pair_of(left, right);
  for (std::size_t at = home_of(pair); slots_[at].pair != kEmpty; at = (at + 1) & (slots_.size() - 1)) {
    if (slots_[at].pair == pair) return slots_[at].rank;
  }
  return std::nullopt;
}

void BpeModel::push_candidate(Scratch& scratch, std::int32_t left) const {
  if (left < 0) return;
  const auto& symbol = scratch.symbols[static_cast<std::size_t>(left)];
  if (symbol.next < 0) return;
  const auto rank = rank_of(symbol.id, scratch.symbols[static_cast<std::size_t>(symbol.next)].id);
  if (!rank) return;
  scratch.heap.push_back((std::uint64_t{*rank} << 32) | static_cast<std::uint32_t>(left));
  std::push_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
}

void BpeModel::apply_candidate(std::uint64_t candidate, Scratch& scratch) const {
  const Merge& merge = merges_[candidate >> 32];
  const auto position = static_cast<std::int32_t>(candidate & 0xFFFFFFFFu);
  auto& left = scratch.symbols[static_cast<std::size_t>(position)];
  if (!left.alive || left.id != merge.left || left.next < 0) return;  // overtaken by another merge
  auto& right = scratch.symbols[static_cast<std::size_t>(left.next)];
  if (right.id != merge.right) return;
  left.id = merge.merged;
  left.next = right.next;
  right.alive = false;
  if (left.next >= 0) scratch.symbols[static_cast<std::size_t>(left.next)].previous = position;
  push_candidate(scratch, left.previous);
  push_candidate(scratch, position);
}

void BpeModel::encode_piece(std::string_view piece, Scratch& scratch, std::vector<TokenId>& out) const {
  DI_CHECK(piece.size() < std::numeric_limits<std::int32_t>::max(), "piece of {} bytes", piece.size());
  const auto count = static_cast<std::int32_t>(piece.size());
  scratch.symbols.clear();
  scratch.heap.clear();
  for (std::int32_t i = 0; i < count; ++i) {
    const auto byte = static_cast<std::uint8_t>(piece[static_cast<std::size_t>(i)]);
    scratch.symbols.push_back({byte_ids_[byte], i - 1, i + 1 < count ? i + 1 : -1, true});
  }
  for (std::int32_t i = 0; i < count; ++i) push_candidate(scratch, i);
  while (!scratch.heap.empty()) {
    std::pop_heap(scratch.heap.begin(), scratch.heap.end(), std::greater<>());
    const std::uint64_t candidate = scratch.heap.back();
    scratch.heap.pop_back();
    apply_candidate(candidate, scratch);
  }
  for (std::int32_t i = 0; i >= 0 && i < count; i = scratch.symbols[static_cast<std::size_t>(i)].next) {
    out.push_back(scratch.symbols[static_cast<std::size_t>(i)].id);
  }
}

}  // namespace deepinfer::tokenizer
