// The integer type of token ids, shared by every part of the tokenizer.
#pragma once

#include <cstdint>

namespace deepinfer::tokenizer {

/// Index into the vocabulary, 0 … vocab_size − 1. Signed and 32 bits wide, as in the model's id tensors.
using TokenId = std::int32_t;

}  // namespace deepinfer::tokenizer
