#include "tokenizer/tokenizer_file.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "base/error.h"
#include "base/json.h"
#include "tokenizer/byte_alphabet.h"

namespace deepinfer::tokenizer {
namespace {

using base::Json;

constexpr std::int64_t kMaxTokens = std::int64_t{1} << 21;

/// Member `key` of `object`; a null value counts as absent.
const Json* present(const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Result<const Json*> required(const Json& object, std::string_view key, std::string_view type, std::string_view where) {
  const Json* value = object.find(key);
  if (value == nullptr) return errorf(ErrorCode::kDataCorruption, "{} has no \"{}\"", where, key);
  if (value->type_name() != type) {
    return errorf(ErrorCode::kDataCorruption, "\"{}\" of {} is a {}, expected {}", key, where, value->type_name(),
                  type);
  }
  return value;
}

/// A switch that must be off: absent, null, false or "".
Status require_off(const Json& object, std::string_view key, std::string_view where) {
  const Json* value = present(object, key);
  if (value == nullptr || *value == Json(false) || *value == Json("")) return {};
  return errorf(ErrorCode::kUnsupported, "\"{}\" of {} is {}; only null or false is supported", key, where,
                base::dump_json(*value));
}

Status require_type(const Json& object, std::string_view type, std::string_view where) {
  DI_ASSIGN(const Json* found, required(object, "type", "string", where));
  if (found->string() == type) return {};
  return errorf(ErrorCode::kUnsupported, "type of {} is \"{}\"; supported is \"{}\"", where, found->string(), type);
}

Status check_normalizer(const Json& root) {
  const Json* normalizer = present(root, "normalizer");
  if (normalizer == nullptr) return {};
  DI_TRY(require_type(*normalizer, "Sequence", "normalizer"));
  DI_ASSIGN(const Json* steps, required(*normalizer, "normalizers", "array", "normalizer"));
  if (steps->items().empty()) return {};
  return errorf(ErrorCode::kUnsupported, "normalizer has {} steps; supported are null and an empty sequence",
                steps->items().size());
}

Result<SplitRule> parse_split(const Json& step) {
  DI_ASSIGN(const Json* behavior, required(step, "behavior", "string", "Split"));
  if (behavior->string() != "Isolated") {
    return errorf(ErrorCode::kUnsupported, "behavior of Split is \"{}\"; supported is \"Isolated\"",
                  behavior->string());
  }
  DI_TRY(require_off(step, "invert", "Split"));
  DI_ASSIGN(const Json* pattern, required(step, "pattern", "object", "Split"));
  DI_ASSIGN(const Json* regex, required(*pattern, "Regex", "string", "pattern of Split"));
  return split_rule_of_regex(regex->string());
}

Result<std::vector<SplitRule>> parse_pre_tokenizer(const Json& root) {
  DI_ASSIGN(const Json* sequence, required(root, "pre_tokenizer", "object", "tokenizer.json"));
  DI_TRY(require_type(*sequence, "Sequence", "pre_tokenizer"));
  DI_ASSIGN(const Json* steps, required(*sequence, "pretokenizers", "array", "pre_tokenizer"));
  if (steps->items().empty()) {
    return errorf(ErrorCode::kUnsupported, "pre_tokenizer is empty; its last step must be \"ByteLevel\"");
  }
  std::vector<SplitRule> rules;
  for (std::size_t i = 0; i + 1 < steps->items().size(); ++i) {
    DI_TRY(require_type(steps->items()[i], "Split", "a pre_tokenizer step before the last"));
    DI_ASSIGN(const SplitRule rule, parse_split(steps->items()[i]));
    rules.push_back(rule);
  }
  const Json& last = steps->items().back();
  DI_TRY(require_type(last, "ByteLevel", "the last pre_tokenizer step"));
  DI_TRY(require_off(last, "add_prefix_space", "ByteLevel"));
  // Absent means true in this file format.
  if (const Json* own = last.find("use_regex"); own == nullptr || *own != Json(false)) {
    return errorf(ErrorCode::kUnsupported, "\"use_regex\" of ByteLevel is not false; only false is supported");
  }
  return rules;
}

Status check_model(const Json& model) {
  DI_TRY(require_type(model, "BPE", "model"));
  for (const std::string_view key : {"dropout", "unk_token", "continuing_subword_prefix", "end_of_word_suffix",
                                     "byte_fallback", "ignore_merges"}) {
    DI_TRY(require_off(model, key, "model"));
  }
  return {};
}

Result<TokenId> parse_id(const Json& value, std::string_view literal) {
  const auto id = value.as_int();
  if (id && *id >= 0 && *id < kMaxTokens) return static_cast<TokenId>(*id);
  return errorf(ErrorCode::kDataCorruption, "id of token \"{}\" is {}; accepted are integers 0 … {}", literal,
                base::dump_json(value), kMaxTokens - 1);
}

Result<AddedToken> parse_added_token(const Json& entry) {
  if (!entry.is_object()) return errorf(ErrorCode::kDataCorruption, "an added token is a {}", entry.type_name());
  DI_ASSIGN(const Json* content, required(entry, "content", "string", "an added token"));
  const std::string& literal = content->string();
  if (literal.empty()) return errorf(ErrorCode::kDataCorruption, "an added token has empty content");
  DI_ASSIGN(const Json* number, required(entry, "id", "number", "added token \"" + literal + "\""));
  DI_ASSIGN(const TokenId id, parse_id(*number, literal));
  for (const std::string_view key : {"single_word", "lstrip", "rstrip"}) {
    DI_TRY(require_off(entry, key, "added token \"" + literal + "\""));
  }
  const Json* special = entry.find("special");
  return AddedToken{id, literal, special != nullptr && *special == Json(true)};
}

Result<std::vector<AddedToken>> parse_added_tokens(const Json& root) {
  std::vector<AddedToken> added;
  const Json* list = present(root, "added_tokens");
  if (list == nullptr) return added;
  if (!list->is_array()) return errorf(ErrorCode::kDataCorruption, "added_tokens is a {}", list->type_name());
  for (const Json& entry : list->items()) {
    DI_ASSIGN(AddedToken token, parse_added_token(entry));
    added.push_back(std::move(token));
  }
  std::sort(added.begin(), added.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  return added;
}

/// Collects ids of both tables and the strings that merges refer to.
class Builder {
 public:
  Status add_vocabulary(const Json& vocab);
  Status add_added_tokens(const std::vector<AddedToken>& added);
  Status add_merges(const Json& merges);
  Status finish(TokenizerFile& file);

 private:
  Result<TokenId> id_of(std::string_view spelling, std::size_t rank) const;
  Status claim(TokenId id, std::string_view literal);

  std::unordered_map<std::string_view, TokenId> ids_;  // keys live in the JSON tree
  std::vector<std::string_view> names_;                // by id; empty = free
  std::vector<Merge> merges_;
};

Status Builder::claim(TokenId id, std::string_view literal) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= names_.size()) names_.resize(index + 1);
  if (!names_[index].empty()) {
    return errorf(ErrorCode::kDataCorruption, "id {} is given to \"{}\" and to \"{}\"", id, names_[index], literal);
  }
  names_[index] = literal;
  return {};
}

Status Builder::add_vocabulary(const Json& vocab) {
  for (const auto& [spelling, number] : vocab.members()) {
    if (spelling.empty()) return errorf(ErrorCode::kDataCorruption, "model.vocab has an empty token");
    DI_ASSIGN(const TokenId id, parse_id(number, spelling));
    DI_TRY(claim(id, spelling));
    ids_.emplace(spelling, id);
  }
  return {};
}

Status Builder::add_added_tokens(const std::vector<AddedToken>& added) {
  std::unordered_map<std::string_view, TokenId> literals;
  for (const AddedToken& token : added) {
    if (!literals.emplace(token.literal, token.id).second) {
      return errorf(ErrorCode::kDataCorruption, "added token \"{}\" appears twice", token.literal);
    }
    const auto base = ids_.find(token.literal);
    if (base == ids_.end()) {
      DI_TRY(claim(token.id, token.literal));
    } else if (base->second != token.id) {
      return errorf(ErrorCode::kDataCorruption, "token \"{}\" has id {} in model.vocab and id {} in added_tokens",
                    token.literal, base->second, token.id);
    }
  }
  return {};
}

Result<TokenId> Builder::id_of(std::string_view spelling, std::size_t rank) const {
  const auto found = ids_.find(spelling);
  if (found != ids_.end()) return found->second;
  return errorf(ErrorCode::kDataCorruption, "merge {} needs token \"{}\", which is not in model.vocab", rank, spelling);
}

/// The two halves of a merge, written "a b" or ["a", "b"].
Result<std::pair<std::string_view, std::string_view>> halves_of(const Json& merge, std::size_t rank) {
  if (merge.is_string()) {
    const std::string_view text = merge.string();
    const auto blank = text.find(' ');
    if (blank != std::string_view::npos && text.find(' ', blank + 1) == std::string_view::npos) {
      return std::pair{text.substr(0, blank), text.substr(blank + 1)};
    }
  } else if (merge.is_array() && merge.items().size() == 2 && merge.items()[0].is_string() &&
             merge.items()[1].is_string()) {
    return std::pair<std::string_view, std::string_view>{merge.items()[0].string(), merge.items()[1].string()};
  }
  return errorf(ErrorCode::kDataCorruption, "merge {} is {}; accepted are \"a b\" and [\"a\", \"b\"]", rank,
                base::dump_json(merge));
}

Status Builder::add_merges(const Json& merges) {
  merges_.reserve(merges.items().size());
  for (std::size_t rank = 0; rank < merges.items().size(); ++rank) {
    DI_ASSIGN(const auto halves, halves_of(merges.items()[rank], rank));
    DI_ASSIGN(const TokenId left, id_of(halves.first, rank));
    DI_ASSIGN(const TokenId right, id_of(halves.second, rank));
    DI_ASSIGN(const TokenId merged, id_of(std::string(halves.first).append(halves.second), rank));
    merges_.push_back({left, right, merged});
  }
  return {};
}

bool is_added(const std::vector<AddedToken>& added, TokenId id) {
  return std::any_of(added.begin(), added.end(), [id](const AddedToken& token) { return token.id == id; });
}

Status Builder::finish(TokenizerFile& file) {
  const auto gap = std::find_if(names_.begin(), names_.end(), [](std::string_view name) { return name.empty(); });
  if (names_.empty() || gap != names_.end()) {
    return errorf(ErrorCode::kDataCorruption, "token ids have a gap at {} (largest id {})", gap - names_.begin(),
                  std::ssize(names_) - 1);
  }
  file.token_bytes.resize(names_.size());
  for (const auto& [spelling, id] : ids_) {
    if (auto bytes = alphabet_to_bytes(spelling)) {
      file.token_bytes[static_cast<std::size_t>(id)] = std::move(*bytes);
    } else if (!is_added(file.added, id)) {
      return errorf(ErrorCode::kDataCorruption, "token {} \"{}\" has characters outside the byte alphabet", id,
                    spelling);
    }
  }
  for (int byte = 0; byte < 256; ++byte) {
    const char value = static_cast<char>(static_cast<std::uint8_t>(byte));
    const auto found = ids_.find(bytes_to_alphabet({&value, 1}));
    if (found == ids_.end()) return errorf(ErrorCode::kDataCorruption, "model.vocab has no token for byte {}", byte);
    file.byte_ids[static_cast<std::size_t>(byte)] = found->second;
  }
  file.merges = std::move(merges_);
  return {};
}

}  // namespace

Result<TokenizerFile> parse_tokenizer_file(std::string_view json) {
  DI_ASSIGN(const Json root, base::parse_json(json));
  if (!root.is_object()) return errorf(ErrorCode::kDataCorruption, "tokenizer.json is a {}", root.type_name());
  TokenizerFile file;
  DI_TRY(check_normalizer(root));
  DI_ASSIGN(file.splits, parse_pre_tokenizer(root));
  DI_ASSIGN(const Json* model, required(root, "model", "object", "tokenizer.json"));
  DI_TRY(check_model(*model));
  DI_ASSIGN(file.added, parse_added_tokens(root));
  DI_ASSIGN(const Json* vocab, required(*model, "vocab", "object", "model"));
  DI_ASSIGN(const Json* merges, required(*model, "merges", "array", "model"));
  Builder builder;
  DI_TRY(builder.add_vocabulary(*vocab));
  DI_TRY(builder.add_added_tokens(file.added));
  DI_TRY(builder.add_merges(*merges));
  DI_TRY(builder.finish(file));
  return file;
}

}  // namespace deepinfer::tokenizer
