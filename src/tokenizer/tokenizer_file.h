// Reads tokenizer.json into plain tables, and refuses every feature this tokenizer does not have.
//
// Accepted: a byte-level BPE model without dropout, unknown token, byte fallback, affixes or `ignore_merges`; no
// normalizer (null or an empty sequence); the pre-tokenizers of pretokenizer.h followed by the byte-level map; added
// tokens without stripping. `post_processor`, `decoder`, `truncation` and `padding` do not change ids and are ignored.
// Source: tokenizer-and-prompts.md 1.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/status.h"
#include "tokenizer/bpe.h"
#include "tokenizer/pretokenizer.h"
#include "tokenizer/special_tokens.h"
#include "tokenizer/token_id.h"

namespace deepinfer::tokenizer {

struct TokenizerFile {
  std::vector<std::string> token_bytes;  ///< by id; empty for ids that are added tokens only
  std::vector<AddedToken> added;         ///< ascending ids
  std::array<TokenId, 256> byte_ids;
  std::vector<Merge> merges;             ///< rank order
  std::vector<SplitRule> splits;
};

/// Parses the text of a tokenizer.json. Errors: kInvalidArgument (no JSON), kDataCorruption (contradictions: gaps,
/// repeated ids, merges of unknown tokens), kUnsupported (a feature outside the list above).
Result<TokenizerFile> parse_tokenizer_file(std::string_view json);

}  // namespace deepinfer::tokenizer
