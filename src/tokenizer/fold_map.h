// The folded token map: which tokens the Engram hash treats as the same.
//
// Tokens whose texts agree after compatibility decomposition, removal of marks, lower-casing and white-space
// folding share a class. Released vocabulary: 129,280 ids → 99,092 classes. Source: model.md 4.1.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tokenizer/tokenizer.h"

namespace deepinfer::tokenizer {

/// Normal form of a text (valid UTF-8) by which tokens are merged; empty if nothing is left of it. Case and
/// decompositions follow the Unicode tables in use, marks those of Unicode 9.0.
std::string fold_text(std::string_view text);

/// Class of every id, [vocab_size]; classes are numbered 0, 1, … in order of first appearance. A token whose
/// normal form is empty is classed by its text, one that is partial UTF-8 (or contains U+FFFD) by its spelling in the
/// byte alphabet.
std::vector<std::int32_t> fold_map(const Tokenizer& tokenizer);

}  // namespace deepinfer::tokenizer
