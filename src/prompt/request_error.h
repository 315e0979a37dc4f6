// Errors of requests and conversations: an HTTP status, a short kind and the path of the field, carried in `Error`.
//
// `Error::context` holds {path, kind}, so `to_string()` reads "kind: path: message". The server turns them into the
// error object of its protocol.
#pragma once

#include <string>
#include <string_view>

#include "deepinfer/status.h"

namespace deepinfer::prompt {

struct RequestError {
  int status = 400;
  std::string kind;   ///< e.g. "temperature", "body_missing_field"
  std::string param;  ///< path of the field, e.g. "messages[2].content"; may be empty
};

/// kInvalidArgument with kind and path; `message` says what was found and what is accepted.
tl::unexpected<Error> request_error(std::string_view kind, std::string_view param, std::string message);

/// Kind and path of an error made by `request_error`; status 500 and kind "internal" for other errors.
RequestError describe_request_error(const Error& error);

}  // namespace deepinfer::prompt
