#include "tokenizer/detokenizer.h"

#include "base/error.h"

namespace deepinfer::tokenizer {

Result<std::string> Detokenizer::push(TokenId id) {
  if (!tokenizer_->is_valid(id)) {
    return errorf(ErrorCode::kInvalidArgument, "token id {} at position {} is outside 0 … {}", id, position_,
                  tokenizer_->vocab_size() - 1);
  }
  ++position_;
  std::string out;
  filter_.push(tokenizer_->token_bytes(id), out);
  return out;
}

std::string Detokenizer::finish() {
  std::string out;
  filter_.finish(out);
  position_ = 0;
  return out;
}

}  // namespace deepinfer::tokenizer
