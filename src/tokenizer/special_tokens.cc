#include "tokenizer/special_tokens.h"

#include <algorithm>

namespace deepinfer::tokenizer {
namespace {

constexpr std::size_t kReleasedVocabSize = 129280;

struct Rename {
  TokenId id;
  std::string_view literal;
};

constexpr TokenId kSystemId = 128799;
constexpr std::string_view kSystemInV4 = "<｜place▁holder▁no▁799｜>";
constexpr Rename kRenames[] = {
    {kSystemId, "<｜System｜>"},
    {129264, "<｜deepseek_image｜>"},
    {129265, "<|place_holder_mm_span_0436|>"},
    {129266, "<|place_holder_mm_span_0437|>"},
    {129267, "<|place_holder_mm_span_0438|>"},
    {129268, "<|place_holder_mm_span_0439|>"},
    {129269, "<|place_holder_mm_span_0440|>"},
    {129270, "<|place_holder_mm_span_0441|>"},
    {129279, "<|place_holder_mm_span_0442|>"},
};

}  // namespace

AddedTokenMatcher::AddedTokenMatcher(const std::vector<AddedToken>& tokens) : AddedTokenMatcher() {
  for (const AddedToken& token : tokens) insert(token);
}

void AddedTokenMatcher::insert(const AddedToken& token) {
  std::uint32_t node = 0;
  for (const char byte : token.literal) {
    auto next = child(node, byte);
    if (!next) {
      next = static_cast<std::uint32_t>(nodes_.size());
      nodes_.emplace_back();
      nodes_[node].children.emplace_back(byte, *next);
    }
    node = *next;
  }
  nodes_[node].id = token.id;
}

std::optional<std::uint32_t> AddedTokenMatcher::child(std::uint32_t node, char byte) const {
  for (const auto& [label, next] : nodes_[node].children) {
    if (label == byte) return next;
  }
  return std::nullopt;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::longest_at(std::string_view text, std::size_t begin) const {
  std::optional<Match> best;
  std::uint32_t node = 0;
  for (std::size_t at = begin; at < text.size(); ++at) {
    const auto next = child(node, text[at]);
    if (!next) break;
    node = *next;
    if (nodes_[node].id) best = Match{begin, at + 1, *nodes_[node].id};
  }
  return best;
}

std::optional<AddedTokenMatcher::Match> AddedTokenMatcher::find(std::string_view text, std::size_t from) const {
  for (std::size_t begin = from; begin < text.size(); ++begin) {
    if (auto match = longest_at(text, begin)) return match;
  }
  return std::nullopt;
}

bool rename_v4_to_v41(std::size_t vocab_size, std::vector<AddedToken>& tokens) {
  const auto find = [&tokens](TokenId id) {
    return std::find_if(tokens.begin(), tokens.end(), [id](const AddedToken& token) { return token.id == id; });
  };
  const auto system = find(kSystemId);
  if (vocab_size != kReleasedVocabSize || system == tokens.end() || system->literal != kSystemInV4) return false;
  for (const Rename& rename : kRenames) {
    if (const auto token = find(rename.id); token != tokens.end()) token->literal = rename.literal;
  }
  return true;
}

}  // namespace deepinfer::tokenizer
