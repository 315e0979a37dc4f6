#include "prompt/token_limits.h"

#include <fmt/format.h>

#include <algorithm>

#include "prompt/messages.h"
#include "prompt/request_error.h"

namespace deepinfer::prompt {
namespace {

constexpr std::int64_t kDefaultChat = 8192;
constexpr std::int64_t kDefaultThinking = 65536;
constexpr std::int64_t kDefaultMaxEffort = 131072;

}  // namespace

Result<std::int64_t> resolve_max_tokens(const TokenLimitInput& input) {
  const std::int64_t left = input.context_limit - input.prompt_tokens;
  if (left < 0 || (input.requested && *input.requested > left)) {
    return request_error("context_overflow", "max_tokens",
                         fmt::format("{} prompt tokens and {} requested tokens exceed the context of {}",
                                     input.prompt_tokens, input.requested.value_or(0), input.context_limit));
  }
  if (input.requested) return *input.requested;
  const std::int64_t thinking = input.effort >= kMaxEffort ? kDefaultMaxEffort : kDefaultThinking;
  return std::clamp<std::int64_t>(left, 1, input.thinking ? thinking : kDefaultChat);
}

}  // namespace deepinfer::prompt
