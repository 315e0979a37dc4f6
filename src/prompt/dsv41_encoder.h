// Prompt encoding of V4.1: a conversation becomes structure tokens and text.
//
// There is no template language; these rules are the definition. They come in two flavours (`Conversation::rules`):
// under the recipe rules every assistant turn brings its own header, under the checkpoint rules the header belongs to
// the message before it. Source: tokenizer-and-prompts.md 3.
#pragma once

#include "prompt/encoder.h"

namespace deepinfer::prompt {

class Dsv41Encoder final : public Encoder {
 public:
  /// Errors: two response formats at once; under the checkpoint rules also an empty developer message, an unknown
  /// task, placeholder text, an image without a source and arguments that are not a JSON object.
  Result<EncodedPrompt> encode(const Conversation& conversation) const override;
};

/// Appends one call block, `<｜DSML｜ calls>` to `</｜DSML｜ calls>`, without the blank line before it.
/// Errors: arguments that are not a JSON object under the checkpoint rules; the recipe rules wrap them instead.
Status append_call_block(PromptSegments& out, const std::vector<ToolCall>& calls, Rules rules);

}  // namespace deepinfer::prompt
