#include "prompt/request_error.h"

namespace deepinfer::prompt {

tl::unexpected<Error> request_error(std::string_view kind, std::string_view param, std::string message) {
  return tl::unexpected<Error>(
      Error{ErrorCode::kInvalidArgument, std::move(message), {std::string(param), std::string(kind)}});
}

RequestError describe_request_error(const Error& error) {
  if (error.code != ErrorCode::kInvalidArgument) return {500, "internal", ""};
  if (error.context.size() < 2) return {400, "invalid_value", ""};
  return {error.context[1] == "model_not_found" ? 404 : 400, error.context[1], error.context[0]};
}

}  // namespace deepinfer::prompt
