// How many tokens a request may generate (prompt-recipe.md 4, last paragraph).
#pragma once

#include <cstdint>
#include <optional>

#include "deepinfer/status.h"

namespace deepinfer::prompt {

struct TokenLimitInput {
  std::optional<std::int64_t> requested;  ///< `max_tokens` of the request
  bool thinking = true;
  int effort = 75;
  std::int64_t prompt_tokens = 0;
  std::int64_t context_limit = 0;  ///< prompt and output together
};

/// The requested number, or a default (8192 in chat, 65536 thinking, 131072 with effort 100) lowered to what the
/// context leaves but at least 1. Errors: kind "context_overflow" if the prompt alone, or the prompt and the
/// requested number, exceed the context.
Result<std::int64_t> resolve_max_tokens(const TokenLimitInput& input);

}  // namespace deepinfer::prompt
