#include "engine/sampling/history.h"

#include "base/check.h"

namespace deepinfer::engine {

TokenHistory::TokenHistory(std::span<const std::int32_t> prompt)
    : tokens_(prompt.begin(), prompt.end()), num_prompt_(prompt.size()) {
  for (const std::int32_t token : prompt) ++counts_[token].total;
}

void TokenHistory::push(std::int32_t token) {
  tokens_.push_back(token);
  Count& count = counts_[token];
  ++count.total;
  ++count.generated;
}

void TokenHistory::pop() {
  DI_CHECK(tokens_.size() > num_prompt_, "{} tokens, {} of the prompt", tokens_.size(), num_prompt_);
  const auto it = counts_.find(tokens_.back());
  --it->second.generated;
  if (--it->second.total == 0) counts_.erase(it);
  tokens_.pop_back();
}

}  // namespace deepinfer::engine
