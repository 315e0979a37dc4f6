// Field readers and rules that the request forms share.
//
// `null` equals absent for every optional field. All errors are made by request_error.h. Source: prompt-recipe.md 2, 4.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "deepinfer/status.h"
#include "prompt/messages.h"
#include "prompt/requests.h"

namespace deepinfer::prompt {

/// The member, or null if it is absent or null.
const base::Json* present(const base::Json& object, std::string_view key);

/// Readers of members of `object`; `path` names the object in messages ("messages[0]", "" for the body).
/// Kinds: "body_invalid_type", "body_missing_field".
Result<std::string> required_string(const base::Json& object, std::string_view key, std::string_view path);
Result<std::optional<std::string>> optional_string(const base::Json& object, std::string_view key,
                                                   std::string_view path);
Result<bool> optional_bool(const base::Json& object, std::string_view key, std::string_view path);
Result<const base::Json*> required_object(const base::Json& object, std::string_view key, std::string_view path);
Result<const base::Json*> optional_array(const base::Json& object, std::string_view key, std::string_view path);
/// `value` must be an object.
Status require_object(const base::Json& value, std::string_view path);
std::string join_path(std::string_view path, std::string_view key);
std::string index_path(std::string_view path, std::size_t index);
/// "body_unknown_variant": `found` is none of `accepted`.
tl::unexpected<Error> unknown_variant(std::string_view path, std::string_view found, std::string_view accepted);

struct NumberRange {
  double lowest;
  double highest;
  bool open_low = false;  ///< the lowest value itself is refused
};
/// Kind of range errors: the key. Integers may be written as 1.0.
Result<std::optional<double>> optional_number(const base::Json& body, std::string_view key, NumberRange range);
Result<std::optional<std::int64_t>> optional_integer(const base::Json& body, std::string_view key, NumberRange range);

/// Text and image parts of any form: `text`, `input_text`, `output_text`, `image_url`, `input_image`, `image`.
/// `content` is a string or a list of parts. Kinds: "image", "image_data", "body_*".
Result<std::vector<Block>> read_content(const base::Json& content, const std::string& path);
Result<Block> read_part(const base::Json& part, const std::string& path);

/// `model` against the served names. Kind: "model" (official), "model_not_found" (default).
Status check_model(const base::Json& body, const RequestSettings& settings);

/// Thinking and effort (prompt-recipe.md 2.1): `thinking` of the body and the effort field at `effort`.
Status read_thinking(const base::Json& body, const base::Json* effort, const RequestSettings& settings,
                     Conversation& conversation);

/// temperature, top_p, penalties, n, seed, logprobs and the sampling rules of prompt-recipe.md 4.
Status read_sampling(const base::Json& body, const RequestSettings& settings, bool thinking, InferenceSettings& out);

/// `stop` as a string or a list. Kind: "stop".
Result<std::vector<std::string>> read_stops(const base::Json& body, std::string_view key, Profile profile);

/// The parts of a tool definition after the form-specific unpacking.
struct ToolFields {
  const base::Json* object = nullptr;  ///< holds name, description, strict
  std::string_view schema_key = "parameters";
  std::string path;
};
/// Kinds: "function_name", "function_schema". `rules` decides what the tools block prints.
Result<Tool> read_tool(const ToolFields& fields, Profile profile);
/// Kind: "tool_names_not_unique".
Status check_unique_names(const std::vector<Tool>& tools);

/// How the client wants calls to be made, before it is checked against the tools.
struct RequestedChoice {
  ToolChoice choice = ToolChoice::kAuto;
  std::optional<std::string> name;
};
/// Checks a forced choice against tools and thinking and stores it. Kinds: "tool_choice_*".
Status apply_tool_choice(const RequestedChoice& requested, const RequestSettings& settings, Conversation& conversation);

/// text, json_object, json_schema, regex. `schema_holder`: the object with name and schema of a json_schema format.
Result<ResponseFormat> read_response_format(const base::Json& format, const std::string& path,
                                            std::string_view schema_holder);
/// json_object needs the word json in some message (official profile). Kind: "json_object_needs_word_json".
Status check_json_word(const Conversation& conversation, Profile profile);

/// Every call has its result before the next message of another role, each id once. `missing` and `unexpected` are
/// the kinds to report.
Status check_call_pairs(const std::vector<Message>& messages, std::string_view missing, std::string_view unexpected);

/// Parsing options, output constraint and forced rules, once the conversation is complete.
void finish_conversion(ConvertedRequest& request, const RequestSettings& settings);

}  // namespace deepinfer::prompt
