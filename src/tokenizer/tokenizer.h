// The tokenizer: text ↔ token ids of a model's tokenizer.json.
//
// Byte-level BPE with added tokens. Text is encoded as plain text unless the caller asks for added tokens to be
// recognised; the beginning-of-sentence token is never added (the prompt encoder does that). Immutable after loading
// and safe to share between threads. Source: tokenizer-and-prompts.md 1.
//
//   DI_ASSIGN(const auto tokenizer, Tokenizer::from_file(dir + "/tokenizer.json"));
//   DI_ASSIGN(const auto ids, tokenizer.encode("Hello", SpecialMode::kText));
//   DI_ASSIGN(const std::string text, tokenizer.decode(ids));
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "deepinfer/status.h"
#include "tokenizer/bpe.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/token_id.h"

namespace deepinfer::tokenizer {

/// Whether literals of added tokens inside a text are read as their ids.
enum class SpecialMode : std::uint8_t {
  kText,   ///< they are ordinary text: the mode for everything a user or a tool wrote
  kParse,  ///< they become their ids, leftmost and longest first
};

/// Which tokens a decode shows.
enum class DecodeMode : std::uint8_t {
  kAll,             ///< added tokens appear as their literals
  kWithoutSpecial,  ///< added tokens whose `special` flag is set are left out; the other added tokens stay
};

/// What to do with a file that holds the V4 vocabulary (129,280 ids, 128799 still a placeholder).
enum class V4Names : std::uint8_t {
  kRenameToV41,  ///< the nine ids that differ (tokenizer-and-prompts.md 1.1) get their V4.1 literals; flags stay
  kKeep,         ///< literals as in the file, for V4 models
};

class Tokenizer {
 public:
  /// Reads a tokenizer.json. Errors: those of reading a file and of parse_tokenizer_file, with the path as context.
  static Result<Tokenizer> from_file(const std::string& path, V4Names v4_names = V4Names::kRenameToV41);
  /// The same from the text of such a file.
  static Result<Tokenizer> from_json(std::string_view json, V4Names v4_names = V4Names::kRenameToV41);

  /// Token ids of `text`. Errors: kInvalidArgument for invalid UTF-8, naming the byte offset; kResourceExhausted
  /// above 1 GiB.
  Result<std::vector<TokenId>> encode(std::string_view text, SpecialMode mode) const;

  /// Concatenated bytes of the tokens; they need not be valid UTF-8.
  /// Errors of all decoders: kInvalidArgument naming the position of an id outside the vocabulary.
  Result<std::string> decode_bytes(std::span<const TokenId> ids, DecodeMode mode = DecodeMode::kAll) const;
  /// The same as valid UTF-8: one U+FFFD per maximal ill-formed subpart.
  Result<std::string> decode(std::span<const TokenId> ids, DecodeMode mode = DecodeMode::kAll) const;

  /// Number of ids; valid ids are 0 … vocab_size() − 1.
  std::int64_t vocab_size() const { return static_cast<std::int64_t>(kinds_.size()); }
  bool is_valid(TokenId id) const { return id >= 0 && id < vocab_size(); }
  /// Succeeds if all ids are valid. Errors: kInvalidArgument naming the first bad position, its id and the range.
  Status check_ids(std::span<const TokenId> ids) const;

  /// Id of the added token with this literal, e.g. "<｜User｜>"; structure tokens are always looked up this way.
  std::optional<TokenId> token_to_id(std::string_view literal) const;
  /// Bytes of one valid token: of an added token its literal. The view lives as long as the tokenizer.
  std::string_view token_bytes(TokenId id) const;
  /// Whether a valid id is an added token.
  bool is_added(TokenId id) const { return kind(id) != Kind::kBase; }
  /// Whether a valid id is an added token with the `special` flag.
  bool is_special(TokenId id) const { return kind(id) == Kind::kSpecial; }

  const std::vector<AddedToken>& added_tokens() const { return added_; }
  const PreTokenizer& pre_tokenizer() const { return pre_tokenizer_; }

 private:
  enum class Kind : std::uint8_t { kBase, kAdded, kSpecial };

  Tokenizer() : pre_tokenizer_({}) {}
  Kind kind(TokenId id) const;
  void encode_plain(std::string_view text, BpeModel::Scratch& scratch, std::vector<TokenId>& out) const;
  void store_tokens(std::vector<std::string> token_bytes);

  PreTokenizer pre_tokenizer_;
  BpeModel bpe_;
  std::vector<AddedToken> added_;
  AddedTokenMatcher matcher_;
  std::unordered_map<std::string, TokenId> literal_ids_;
  std::vector<Kind> kinds_;             // by id
  std::string bytes_;                   // all tokens, one after the other
  std::vector<std::uint64_t> offsets_;  // into bytes_; vocab_size() + 1 entries
};

}  // namespace deepinfer::tokenizer
