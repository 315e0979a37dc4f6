// Prompt encoding of V4.1: a conversation becomes structure tokens and text.
//
// There is no template language; these rules are the definition. They come in two flavours (`Conversation::rules`):
// under the recipe rules every assistant turn brings its own header, under the checkpoint rules the header belongs to
// the message before it. Source: tokenizer-and-prompts.md 3.
#pragma once

#include "prompt/encoder.h"
#include "prompt/tool_call_registry.h"

namespace deepinfer::prompt {

class Dsv41Encoder final : public Encoder {
 public:
  /// With a registry, calls that the model wrote itself are rendered as it wrote them; it outlives the encoder.
  explicit Dsv41Encoder(const ToolCallRegistry* registry = nullptr) : registry_(registry) {}

  /// Errors: two response formats at once; under the checkpoint rules also an empty developer message, an unknown
  /// task, placeholder text, an image without a source and arguments that are not a JSON object.
  Result<EncodedPrompt> encode(const Conversation& conversation) const override;

 private:
  const ToolCallRegistry* registry_;
};

}  // namespace deepinfer::prompt
