// Incremental detokenisation: token ids in, released text out.
//
// The concatenation of everything released equals decoding the whole sequence at once, and every release is valid
// UTF-8. At most three undecided bytes are held; the history is never decoded again, so a token costs O(its bytes).
// Source: tokenizer-and-prompts.md 4, engine.md 14.
#pragma once

#include <string>

#include "deepinfer/status.h"
#include "tokenizer/token_id.h"
#include "tokenizer/tokenizer.h"
#include "tokenizer/utf8.h"

namespace deepinfer::tokenizer {

class Detokenizer {
 public:
  /// `tokenizer` outlives the detokenizer. Special tokens appear as their literals.
  explicit Detokenizer(const Tokenizer& tokenizer) : tokenizer_(&tokenizer) {}

  /// Text that became certain with this token, often empty.
  /// Errors: kInvalidArgument for an id outside the vocabulary, naming its position in the stream; nothing is consumed.
  Result<std::string> push(TokenId id);

  /// Text of the bytes still held (one U+FFFD, two for a held surrogate lead, or nothing). The stream starts over.
  std::string finish();

 private:
  const Tokenizer* tokenizer_;
  Utf8Filter filter_;
  std::int64_t position_ = 0;
};

}  // namespace deepinfer::tokenizer
