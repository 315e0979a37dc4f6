// Filter for answers that have to be JSON (`parse_json_output`): text around the value and code fences go away.
//
// Source: tokenizer-and-prompts.md 5.1 "JSON answers".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace deepinfer::prompt {

class JsonAnswerFilter {
 public:
  /// `delta` is the answer text of one chunk: text outside the value becomes one space a delta, so the number of
  /// spaces depends on the chunks.
  std::string push(std::string_view delta);
  /// Releases what is held, as if the text ended here.
  std::string flush();

 private:
  enum class State : std::uint8_t { kOutside, kFence, kFenced, kBare };

  // Each consumes the front of `rest` and says whether there is more to do; what is left over is held.
  bool step(std::string_view& rest, std::string& out);
  bool step_outside(std::string_view& rest, std::string& out);
  bool step_fence(std::string_view& rest);
  bool step_fenced(std::string_view& rest, std::string& out);

  State state_ = State::kOutside;
  std::string held_;
};

}  // namespace deepinfer::prompt
