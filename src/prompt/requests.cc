#include "prompt/requests.h"

#include "base/check.h"
#include "prompt/request_error.h"
#include "prompt/request_fields.h"

namespace deepinfer::prompt {

using base::Json;

Result<Json> parse_request_body(std::string_view body, Profile profile) {
  using Duplicates = base::JsonLimits::DuplicateKeys;
  const base::JsonLimits limits{.duplicate_keys =
                                    profile == Profile::kOfficial ? Duplicates::kKeepLast : Duplicates::kRefuse};
  auto value = base::parse_json(body, limits);
  if (!value) return request_error("body_json", "", value.error().to_string());
  if (!value->is_object()) {
    return request_error("body_invalid_request", "",
                         "the body is a JSON " + std::string(value->type_name()) + ", wanted an object");
  }
  return value;
}

Result<ConvertedRequest> convert_request(RequestForm form, const Json& body, const RequestSettings& settings) {
  switch (form) {
    case RequestForm::kChat: return convert_chat_request(body, settings);
    case RequestForm::kResponses: return convert_responses_request(body, settings);
    case RequestForm::kMessages: return convert_messages_request(body, settings);
  }
  DI_CHECK(false, "form={}", static_cast<int>(form));
  return {};
}

}  // namespace deepinfer::prompt
