// The tokens of one sequence as the sampling rules see them: prompt, then completion, with counts for penalties.
//
// Drafting pushes proposed tokens and pops them again, so a draft is processed under the rules of its own position.
#pragma once

#include <cstdint>
#include <span>
#include <unordered_map>
#include <vector>

namespace deepinfer::engine {

class TokenHistory {
 public:
  explicit TokenHistory(std::span<const std::int32_t> prompt);

  void push(std::int32_t token);  ///< a completion token
  void pop();                     ///< undoes the last push

  struct Count {
    std::int64_t total = 0;      ///< in prompt and completion
    std::int64_t generated = 0;  ///< in the completion
  };
  /// Every token that occurred; the order is not defined.
  const std::unordered_map<std::int32_t, Count>& counts() const { return counts_; }
  std::span<const std::int32_t> generated() const { return std::span(tokens_).subspan(num_prompt_); }
  /// Absolute position of the next token.
  std::int64_t position() const { return static_cast<std::int64_t>(tokens_.size()); }

 private:
  std::vector<std::int32_t> tokens_;
  std::size_t num_prompt_;
  std::unordered_map<std::int32_t, Count> counts_;
};

}  // namespace deepinfer::engine
