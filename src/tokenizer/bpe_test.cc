#include "tokenizer/bpe.h"

#include <chrono>
#include <numeric>
#include <random>
#include <string>

#include <gtest/gtest.h>

namespace deepinfer::tokenizer {
namespace {

std::array<TokenId, 256> identity_bytes() {
  std::array<TokenId, 256> ids{};
  std::iota(ids.begin(), ids.end(), 0);
  return ids;
}

std::vector<TokenId> encode(const BpeModel& model, std::string_view piece) {
  BpeModel::Scratch scratch;
  std::vector<TokenId> out;
  model.encode_piece(piece, scratch, out);
  return out;
}

/// The definition: search the lowest rank, leftmost pair again after every merge.
std::vector<TokenId> encode_by_definition(const std::vector<Merge>& merges, std::string_view piece) {
  std::vector<TokenId> ids;
  for (const char byte : piece) ids.push_back(static_cast<std::uint8_t>(byte));
  const auto apply_first = [&] {
    for (const Merge& merge : merges) {
      for (std::size_t i = 0; i + 1 < ids.size(); ++i) {
        if (ids[i] != merge.left || ids[i + 1] != merge.right) continue;
        ids[i] = merge.merged;
        ids.erase(ids.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        return true;
      }
    }
    return false;
  };
  while (apply_first()) {
  }
  return ids;
}

TEST(Bpe, MergesLowestRankFirstAndLeftmost) {
  const BpeModel model(identity_bytes(), {{'b', 'c', 256}, {'a', 'b', 257}, {'a', 'a', 258}});
  EXPECT_EQ(encode(model, "abc"), (std::vector<TokenId>{'a', 256}));
  EXPECT_EQ(encode(model, "aba"), (std::vector<TokenId>{257, 'a'}));
  EXPECT_EQ(encode(model, "aaaaa"), (std::vector<TokenId>{258, 258, 'a'}));
  EXPECT_EQ(encode(model, ""), (std::vector<TokenId>{}));
  EXPECT_EQ(encode(model, "z"), (std::vector<TokenId>{'z'}));
}

TEST(Bpe, FirstOfEqualPairsCounts) {
  const BpeModel model(identity_bytes(), {{'a', 'b', 256}, {'a', 'b', 257}});
  EXPECT_EQ(encode(model, "ab"), (std::vector<TokenId>{256}));
}

TEST(Bpe, WithoutMergesGivesBytes) {
  EXPECT_EQ(encode(BpeModel(identity_bytes(), {}), "\xFF\x01"), (std::vector<TokenId>{255, 1}));
}

TEST(Bpe, EqualsTheDefinitionOnRandomModels) {
  std::mt19937 random(4);
  const auto below = [&random](int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random); };
  for (int round = 0; round < 300; ++round) {
    std::vector<Merge> merges;
    std::vector<TokenId> symbols = {'a', 'b', 'c'};
    for (int i = 0; i < 12; ++i) {
      const TokenId left = symbols[static_cast<std::size_t>(below(static_cast<int>(symbols.size())))];
      const TokenId right = symbols[static_cast<std::size_t>(below(static_cast<int>(symbols.size())))];
      merges.push_back({left, right, 256 + i});
      symbols.push_back(256 + i);
    }
    std::shuffle(merges.begin(), merges.end(), random);
    const BpeModel model(identity_bytes(), merges);
    for (int text = 0; text < 20; ++text) {
      std::string piece;
      for (int length = below(40); length > 0; --length) piece.push_back(static_cast<char>('a' + below(3)));
      ASSERT_EQ(encode(model, piece), encode_by_definition(merges, piece)) << piece;
    }
  }
}

TEST(Bpe, TakesLongPiecesInNearLinearTime) {
  std::vector<Merge> merges = {{'a', 'a', 256}};
  for (TokenId id = 256; id < 270; ++id) merges.push_back({id, id, id + 1});
  const BpeModel model(identity_bytes(), merges);
  const auto start = std::chrono::steady_clock::now();
  EXPECT_EQ(encode(model, std::string(1 << 20, 'a')), std::vector<TokenId>(1 << 5, 270));
  // About 0.15 s; a quadratic method needs hours.
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(20));
}

}  // namespace
}  // namespace deepinfer::tokenizer
