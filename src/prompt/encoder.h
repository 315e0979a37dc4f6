// The result of prompt encoding: a list of segments, each one structure token or plain text, and the interface of the
// encoders that produce it.
//
// Plain text is tokenised apart with special parsing off, so marker text typed by a user stays ordinary tokens.
// Neighbouring texts are one segment, also across messages. Source: tokenizer-and-prompts.md 3.1.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/status.h"
#include "prompt/messages.h"

namespace deepinfer::prompt {

struct Segment {
  enum class Kind { kText, kToken };
  Kind kind = Kind::kText;
  std::string text;  ///< the text, or the literal of the token

  bool operator==(const Segment&) const = default;
};

class PromptSegments {
 public:
  /// Half-open range of code points of the prompt text.
  using Range = std::pair<std::int64_t, std::int64_t>;

  /// Appends plain text; joins the text segment at the end if there is one.
  void text(std::string_view text);
  /// Appends one structure token.
  void token(std::string_view literal);
  /// Appends text in which each occurrence of one of `literals` is a structure token.
  void text_with_tokens(std::string_view text, const std::vector<std::string_view>& literals);
  void append(const PromptSegments& other);

  const std::vector<Segment>& items() const { return items_; }
  bool empty() const { return items_.empty(); }
  /// All segments joined.
  std::string prompt() const;
  /// One range for each structure token, in order, neighbours not merged.
  std::vector<Range> special_ranges() const;

 private:
  std::vector<Segment> items_;
};

struct EncodedPrompt {
  PromptSegments segments;
  std::optional<InitialStage> initial_stage;
  bool opened_call_block = false;  ///< a forced call: the completion starts inside the block
  std::int64_t images = 0;
  std::vector<std::string> image_sources;  ///< URLs of the image blocks in the order of their tokens
};

class Encoder {
 public:
  virtual ~Encoder() = default;
  /// Errors: kInvalidArgument with the kind of request_error.h for conversations that the rules refuse.
  virtual Result<EncodedPrompt> encode(const Conversation& conversation) const = 0;
};

}  // namespace deepinfer::prompt
