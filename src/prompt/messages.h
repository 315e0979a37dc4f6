// A conversation as the prompt encoders see it: messages and options, independent of the HTTP form it came in.
//
// Source: tokenizer-and-prompts.md 2. Requests are turned into this form by requests_*.h, conversations given directly
// as JSON by conversation_json.h; dsv41_encoder.h turns it into a prompt.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/json.h"

namespace deepinfer::prompt {

/// kRecipe: the official library (the three HTTP protocols). kCheckpoint: the encoder shipped with the weights, the
/// only one that knows `developer`, tasks, integer effort, `drop_thinking` and an open turn without end token.
enum class Rules { kRecipe, kCheckpoint };

enum class Role { kSystem, kUser, kAssistant, kTool, kLatestReminder, kDeveloper };

/// One part of a message. An image is one structure token in the prompt; `source` is its URL (empty: none given).
struct Block {
  enum class Kind { kText, kImage };
  Kind kind = Kind::kText;
  std::string text;
  std::string source;
  std::string detail;  ///< "auto", "low" or "high"
};

struct ToolCall {
  std::string id;
  std::string name;
  std::string arguments;  ///< JSON text as the client sent it
};

struct Tool {
  std::string name;
  std::optional<std::string> description;
  base::Json parameters;  ///< after the rewriting of strict schemas
  std::optional<bool> strict;
  bool defer_loading = false;  ///< left out of the tools block
  base::Json line;             ///< the JSON object that the tools block prints
};

struct ResponseFormat {
  enum class Kind { kNone, kJsonObject, kSchema, kRegex };
  Kind kind = Kind::kNone;
  base::Json schema;
  std::string regex;
};

struct Message {
  Role role = Role::kUser;
  std::vector<Block> content;        ///< parts; joined by a blank line
  std::int64_t attached_images = 0;  ///< images whose places are placeholders inside the text
  std::string reasoning;             ///< assistant
  std::vector<ToolCall> tool_calls;  ///< assistant
  std::string tool_call_id;          ///< tool
  std::vector<Tool> tools;           ///< system, developer
  ResponseFormat response_format;    ///< system, developer (checkpoint rules)
  bool open = false;                 ///< assistant: the model continues this turn (`prefix`, `wo_eos`)
  std::optional<std::string> task;   ///< checkpoint rules
};

/// kForced opens the call block in the prompt; kForcedByGrammar leaves the prompt as with kAuto and lets the output
/// constraint force the call (while thinking: after the reasoning; engine.md 16.5).
enum class ToolChoice { kAuto, kNone, kForced, kForcedByGrammar };

inline constexpr int kDefaultEffort = 75;
inline constexpr int kMaxEffort = 100;

struct Conversation {
  std::vector<Message> messages;
  Rules rules = Rules::kRecipe;
  bool thinking = true;
  int effort = kDefaultEffort;  ///< 1..100
  std::vector<Tool> tools;
  ToolChoice tool_choice = ToolChoice::kAuto;
  std::string forced_tool;  ///< name of the only tool to call; empty: any
  ResponseFormat response_format;
  bool drop_thinking = true;  ///< checkpoint rules
};

/// Where the completion starts, as the prompt's end decides. Empty: in the answer, thinking off.
enum class InitialStage { kReasoningStart, kReasoningContinuation, kContentContinuation };

/// How the completion of a prompt is parsed (prompt-recipe.md 3).
struct ParsingOptions {
  bool parse_tool_calls = true;
  bool starts_in_tool_calls = false;
  bool parse_json_output = false;
  std::optional<InitialStage> initial_stage;
  std::vector<std::string> stop_sequences;
  bool reasoning_fallback = false;  ///< reasoning that never closes is shown as content too at finish "stop"
  bool accept_json_invoke = false;  ///< a JSON object directly inside an invoke is taken as its arguments
};

/// What the sampler must obey. `schema` is a schema, a regular expression or a list of tools, as `kind` says.
struct OutputConstraint {
  std::string kind;  ///< "tool_call", "tool_call_required", "regex", "json"
  std::string schema;
  std::string tool;  ///< name that a forced call must have; empty: any of the tools
};

/// Sampling fields of a request after conversion (prompt-recipe.md 4).
struct InferenceSettings {
  std::optional<std::int64_t> max_tokens;
  float temperature = 1.0F;
  float top_p = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  std::int64_t choices = 1;
  bool logprobs = false;
  std::optional<std::int64_t> top_logprobs;
  std::optional<std::int64_t> seed;
  std::optional<OutputConstraint> constraint;
};

}  // namespace deepinfer::prompt
