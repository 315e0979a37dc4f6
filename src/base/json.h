// JSON values, a reader with limits and a writer.
//
// The reader wraps nlohmann-json's SAX parser (json.cc is the only file that includes it). Objects keep the order of
// their keys; numbers keep their text, so that 64-bit multipliers and "1.0" survive; duplicate keys, excessive depth
// and invalid UTF-8 are errors with the byte offset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::base {

class Json {
 public:
  using Array = std::vector<Json>;
  using Member = std::pair<std::string, Json>;
  using Object = std::vector<Member>;
  struct Number {
    std::string text;  ///< as written, a valid JSON number
    bool operator==(const Number&) const = default;
  };

  Json() = default;  // null
  Json(std::nullptr_t) {}
  Json(bool value) : value_(value) {}
  Json(int value) : Json(static_cast<std::int64_t>(value)) {}
  Json(std::int64_t value);
  Json(std::uint64_t value);
  Json(double value);  ///< shortest text that reads back equal; non-finite values become null
  Json(Number value) : value_(std::move(value)) {}
  Json(const char* value) : value_(std::string(value)) {}
  Json(std::string_view value) : value_(std::string(value)) {}
  Json(std::string value) : value_(std::move(value)) {}
  Json(Array value) : value_(std::move(value)) {}
  Json(Object value) : value_(std::move(value)) {}

  static Json object() { return Json(Object{}); }
  static Json array() { return Json(Array{}); }

  bool is_null() const { return std::holds_alternative<std::nullptr_t>(value_); }
  bool is_bool() const { return std::holds_alternative<bool>(value_); }
  bool is_number() const { return std::holds_alternative<Number>(value_); }
  bool is_integer() const;  ///< a number without fraction and exponent
  bool is_string() const { return std::holds_alternative<std::string>(value_); }
  bool is_array() const { return std::holds_alternative<Array>(value_); }
  bool is_object() const { return std::holds_alternative<Object>(value_); }
  /// "null", "boolean", "number", "string", "array", "object": for messages.
  std::string_view type_name() const;

  // Unchecked access: CheckFailure on another type. Test with is_x() or use the as_x() forms for outside data.
  bool boolean() const;
  const std::string& number_text() const;
  const std::string& string() const;
  const Array& items() const;
  Array& items();
  const Object& members() const;
  Object& members();

  // Checked access; empty on another type or when the value does not fit.
  std::optional<std::int64_t> as_int() const;
  std::optional<std::uint64_t> as_uint() const;
  std::optional<double> as_double() const;

  /// Member of an object, nullptr when absent (or when this is no object).
  const Json* find(std::string_view key) const;
  /// Appends or replaces a member of an object (a null value becomes an object first).
  Json& set(std::string_view key, Json value);
  /// Appends to an array (a null value becomes an array first).
  Json& push(Json value);

  bool operator==(const Json&) const = default;

 private:
  std::variant<std::nullptr_t, bool, Number, std::string, Array, Object> value_ = nullptr;
};

struct JsonLimits {
  /// kKeepLast: a repeated key keeps its first place and its last value (what Python's reader does).
  enum class DuplicateKeys { kRefuse, kKeepLast };
  std::size_t max_bytes = std::size_t{256} << 20;
  int max_depth = 128;
  DuplicateKeys duplicate_keys = DuplicateKeys::kRefuse;
};

/// Parses exactly one JSON text (white space around it is allowed).
/// Errors: kInvalidArgument naming the byte offset and what was expected.
Result<Json> parse_json(std::string_view text, const JsonLimits& limits = {});

struct JsonStyle {
  int indent = -1;          ///< -1 = one line without blanks
  bool spaces = false;      ///< one line with ", " and ": " (Python's default form)
  bool ascii_only = false;  ///< escape everything above U+007F
};
std::string dump_json(const Json& value, const JsonStyle& style = {});

}  // namespace deepinfer::base
