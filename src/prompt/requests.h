// The three HTTP request forms: a request body becomes a conversation, sampling settings and parsing options.
//
// One function a form; what they share (field readers, thinking and effort, sampling ranges, the pairing of calls and
// results) is in request_fields.h. Source: prompt-recipe.md 2 to 4; server.md 11.2 and 21.1 for the profiles.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "deepinfer/status.h"
#include "prompt/messages.h"

namespace deepinfer::prompt {

enum class RequestForm { kChat, kResponses, kMessages };

/// kOfficial mirrors the official recipe (the goldens). kDefault honours what the client sent: integer effort,
/// `developer` and tasks, sampling while thinking, forced calls while thinking, up to 64 stops, several choices,
/// `max_completion_tokens`; it refuses duplicate keys and `previous_response_id`.
enum class Profile { kDefault, kOfficial };

struct RequestSettings {
  Profile profile = Profile::kDefault;
  std::vector<std::string> served_models;  ///< empty: any name, and `model` may be absent
  std::optional<Rules> rules;              ///< `--prompt-rules`; else the fields of the request decide
};

struct ConvertedRequest {
  Conversation conversation;
  InferenceSettings inference;
  ParsingOptions parsing;  ///< `initial_stage` is known after rendering only
  bool stream = false;
};

/// Parses a body: exactly one JSON object. Errors: request_error.h, kinds "body_json", "body_invalid_request".
Result<base::Json> parse_request_body(std::string_view body, Profile profile);

/// Errors of all four: request_error.h, one kind for each refused field.
Result<ConvertedRequest> convert_request(RequestForm form, const base::Json& body, const RequestSettings& settings);
Result<ConvertedRequest> convert_chat_request(const base::Json& body, const RequestSettings& settings);
Result<ConvertedRequest> convert_responses_request(const base::Json& body, const RequestSettings& settings);
Result<ConvertedRequest> convert_messages_request(const base::Json& body, const RequestSettings& settings);

}  // namespace deepinfer::prompt
