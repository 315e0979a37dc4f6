#include "tokenizer/tokenizer.h"

#include <utility>

#include "base/check.h"
#include "base/error.h"
#include "base/io.h"
#include "tokenizer/tokenizer_file.h"
#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {
namespace {

constexpr std::size_t kMaxTextBytes = std::size_t{1} << 30;

}  // namespace

Result<Tokenizer> Tokenizer::from_file(const std::string& path, V4Names v4_names) {
  DI_ASSIGN(const std::string json, base::read_file(path));
  auto tokenizer = from_json(json, v4_names);
  if (!tokenizer) return with_context(std::move(tokenizer).error(), "tokenizer file " + path);
  return tokenizer;
}

Result<Tokenizer> Tokenizer::from_json(std::string_view json, V4Names v4_names) {
  DI_ASSIGN(TokenizerFile file, parse_tokenizer_file(json));
  if (v4_names == V4Names::kRenameToV41) rename_v4_to_v41(file.token_bytes.size(), file.added);
  Tokenizer out;
  out.pre_tokenizer_ = PreTokenizer(std::move(file.splits));
  out.bpe_ = BpeModel(file.byte_ids, std::move(file.merges));
  out.added_ = std::move(file.added);
  out.matcher_ = AddedTokenMatcher(out.added_);
  out.store_tokens(std::move(file.token_bytes));
  return out;
}

void Tokenizer::store_tokens(std::vector<std::string> token_bytes) {
  kinds_.assign(token_bytes.size(), Kind::kBase);
  for (const AddedToken& token : added_) {
    const auto index = static_cast<std::size_t>(token.id);
    kinds_[index] = token.special ? Kind::kSpecial : Kind::kAdded;
    token_bytes[index] = token.literal;
    literal_ids_.emplace(token.literal, token.id);
  }
  offsets_ = {0};
  for (const std::string& bytes : token_bytes) {
    bytes_ += bytes;
    offsets_.push_back(bytes_.size());
  }
}

void Tokenizer::encode_plain(std::string_view text, BpeModel::Scratch& scratch, std::vector<TokenId>& out) const {
  for (const Piece piece : pre_tokenizer_.split(text)) {
    bpe_.encode_piece(text.substr(piece.begin, piece.end - piece.begin), scratch, out);
  }
}

Result<std::vector<TokenId>> Tokenizer::encode(std::string_view text, SpecialMode mode) const {
  if (text.size() > kMaxTextBytes) {
    return errorf(ErrorCode::kResourceExhausted, "text has {} bytes; at most {} are accepted", text.size(),
                  kMaxTextBytes);
  }
  if (const auto bad = find_invalid_utf8(text)) {
    return errorf(ErrorCode::kInvalidArgument, "text is not valid UTF-8 at byte {} (0x{:02X})", *bad,
                  static_cast<std::uint8_t>(text[*bad]));
  }
  std::vector<TokenId> out;
  BpeModel::Scratch scratch;
  std::size_t at = 0;
  while (mode == SpecialMode::kParse) {
    const auto match = matcher_.find(text, at);
    if (!match) break;
    encode_plain(text.substr(at, match->begin - at), scratch, out);
    out.push_back(match->id);
    at = match->end;
  }
  encode_plain(text.substr(at), scratch, out);
  return out;
}

Status Tokenizer::check_ids(std::span<const TokenId> ids) const {
  for (std::size_t position = 0; position < ids.size(); ++position) {
    if (is_valid(ids[position])) continue;
    return errorf(ErrorCode::kInvalidArgument, "token id {} at position {} is outside 0 … {}", ids[position], position,
                  vocab_size() - 1);
  }
  return {};
}

Result<std::string> Tokenizer::decode_bytes(std::span<const TokenId> ids, DecodeMode mode) const {
  DI_TRY(check_ids(ids));
  std::string out;
  for (const TokenId id : ids) {
    if (mode == DecodeMode::kWithoutSpecial && is_special(id)) continue;
    out += token_bytes(id);
  }
  return out;
}

Result<std::string> Tokenizer::decode(std::span<const TokenId> ids, DecodeMode mode) const {
  DI_ASSIGN(const std::string bytes, decode_bytes(ids, mode));
  std::string out;
  Utf8Filter filter;
  filter.push(bytes, out);
  filter.finish(out);
  return out;
}

std::optional<TokenId> Tokenizer::token_to_id(std::string_view literal) const {
  const auto found = literal_ids_.find(std::string(literal));
  if (found == literal_ids_.end()) return std::nullopt;
  return found->second;
}

std::string_view Tokenizer::token_bytes(TokenId id) const {
  DI_CHECK(is_valid(id), "id={} vocab_size={}", id, vocab_size());
  const auto index = static_cast<std::size_t>(id);
  return std::string_view(bytes_).substr(offsets_[index], offsets_[index + 1] - offsets_[index]);
}

Tokenizer::Kind Tokenizer::kind(TokenId id) const {
  DI_CHECK(is_valid(id), "id={} vocab_size={}", id, vocab_size());
  return kinds_[static_cast<std::size_t>(id)];
}

}  // namespace deepinfer::tokenizer
