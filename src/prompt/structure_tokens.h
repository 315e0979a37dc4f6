// Literals of the structure tokens (tokenizer-and-prompts.md 1.1). Vocabularies give them different ids, so every
// token is looked up by its literal when a prompt is turned into ids.
#pragma once

#include <string_view>

namespace deepinfer::prompt {

inline constexpr std::string_view kBeginOfSentence = "<｜begin▁of▁sentence｜>";
inline constexpr std::string_view kEndOfSentence = "<｜end▁of▁sentence｜>";
inline constexpr std::string_view kSystem = "<｜System｜>";
inline constexpr std::string_view kUser = "<｜User｜>";
inline constexpr std::string_view kAssistant = "<｜Assistant｜>";
inline constexpr std::string_view kLatestReminder = "<｜latest_reminder｜>";
inline constexpr std::string_view kThinkStart = "<think>";
inline constexpr std::string_view kThinkEnd = "</think>";
inline constexpr std::string_view kDsml = "｜DSML｜";  ///< without the `<` or `</` before it, which is plain text
inline constexpr std::string_view kImage = "<｜deepseek_image｜>";

}  // namespace deepinfer::prompt
