#include "base/json.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "base/check.h"
#include "base/error.h"

namespace deepinfer::base {

Json::Json(std::int64_t value) : value_(Number{fmt::format("{}", value)}) {}
Json::Json(std::uint64_t value) : value_(Number{fmt::format("{}", value)}) {}
Json::Json(double value) {
  if (!std::isfinite(value)) return;
  std::string text = fmt::format("{}", value);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  value_ = Number{std::move(text)};
}

bool Json::is_integer() const { return is_number() && number_text().find_first_of(".eE") == std::string::npos; }

std::string_view Json::type_name() const {
  static constexpr std::string_view kNames[] = {"null", "boolean", "number", "string", "array", "object"};
  return kNames[value_.index()];
}

namespace {
template <typename T, typename V>
auto& checked(V& value, std::string_view found, const char* wanted) {
  auto* out = std::get_if<T>(&value);
  DI_CHECK(out != nullptr, "JSON value is {}, wanted {}", found, wanted);
  return *out;
}
}  // namespace

bool Json::boolean() const { return checked<bool>(value_, type_name(), "boolean"); }
const std::string& Json::number_text() const { return checked<Number>(value_, type_name(), "number").text; }
const std::string& Json::string() const { return checked<std::string>(value_, type_name(), "string"); }
const Json::Array& Json::items() const { return checked<Array>(value_, type_name(), "array"); }
Json::Array& Json::items() { return checked<Array>(value_, type_name(), "array"); }
const Json::Object& Json::members() const { return checked<Object>(value_, type_name(), "object"); }
Json::Object& Json::members() { return checked<Object>(value_, type_name(), "object"); }

namespace {
template <typename T>
std::optional<T> parse_whole(const std::string& text) {
  T out{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return out;
}
}  // namespace

std::optional<std::int64_t> Json::as_int() const {
  return is_number() ? parse_whole<std::int64_t>(number_text()) : std::nullopt;
}
std::optional<std::uint64_t> Json::as_uint() const {
  return is_number() ? parse_whole<std::uint64_t>(number_text()) : std::nullopt;
}
std::optional<double> Json::as_double() const {
  return is_number() ? parse_whole<double>(number_text()) : std::nullopt;
}

const Json* Json::find(std::string_view key) const {
  const auto* members = std::get_if<Object>(&value_);
  if (members == nullptr) return nullptr;
  for (const auto& [name, value] : *members) {
    if (name == key) return &value;
  }
  return nullptr;
}

Json& Json::set(std::string_view key, Json value) {
  if (is_null()) value_ = Object{};
  for (auto& [name, old] : members()) {
    if (name == key) return old = std::move(value), *this;
  }
  members().emplace_back(std::string(key), std::move(value));
  return *this;
}

Json& Json::push(Json value) {
  if (is_null()) value_ = Array{};
  items().push_back(std::move(value));
  return *this;
}

namespace {

// Builds a Json from SAX events; refuses duplicate keys and excessive depth.
class Builder {
 public:
  explicit Builder(const JsonLimits& limits) : limits_(limits) {}

  bool null() { return add(Json()); }
  bool boolean(bool value) { return add(Json(value)); }
  bool number_integer(std::int64_t value) { return add(Json(value)); }
  bool number_unsigned(std::uint64_t value) { return add(Json(value)); }
  bool number_float(double, const std::string& text) { return add(Json(Json::Number{text})); }
  bool string(std::string& value) { return add(Json(std::move(value))); }
  bool binary(std::vector<std::uint8_t>&) { return fail("binary data"); }
  bool start_object(std::size_t) { return open(Json::object()); }
  bool start_array(std::size_t) { return open(Json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& name) {
    Level& level = open_.back();
    level.repeated = !level.keys.insert(name).second;
    if (level.repeated && limits_.duplicate_keys == JsonLimits::DuplicateKeys::kRefuse) {
      return fail("duplicate key \"" + name + "\"");
    }
    level.key = std::move(name);
    return true;
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) {
    std::string_view what = error.what();
    const auto colon = what.find(": ");
    if (colon != std::string_view::npos) what.remove_prefix(colon + 2);
    constexpr std::size_t kShown = 200;  // `what` quotes everything read since the last token
    const bool cut = what.size() > kShown;
    return fail(fmt::format("at byte {}: {}{}", position, what.substr(0, kShown), cut ? "…" : ""));
  }

  Json take() { return std::move(root_); }
  const std::string& error() const { return error_; }

 private:
  struct Level {
    Json value;
    std::string key;
    std::unordered_set<std::string> keys;
    bool repeated = false;  // the current key was seen before
  };

  bool fail(std::string text) {
    if (error_.empty()) error_ = std::move(text);
    return false;
  }
  bool open(Json empty) {
    if (static_cast<int>(open_.size()) >= limits_.max_depth) {
      return fail(fmt::format("nesting deeper than {}", limits_.max_depth));
    }
    open_.push_back({std::move(empty), {}, {}, false});
    return true;
  }
  bool close() {
    Json value = std::move(open_.back().value);
    open_.pop_back();
    return add(std::move(value));
  }
  bool add(Json value) {
    if (open_.empty()) return root_ = std::move(value), true;
    Level& level = open_.back();
    if (level.value.is_array()) {
      level.value.items().push_back(std::move(value));
    } else if (level.repeated) {
      level.value.set(level.key, std::move(value));
    } else {
      level.value.members().emplace_back(std::move(level.key), std::move(value));
    }
    return true;
  }

  const JsonLimits& limits_;
  std::vector<Level> open_;
  Json root_;
  std::string error_;
};

void append_string(std::string& out, const std::string& text, bool ascii_only) {
  out += nlohmann::json(text).dump(-1, ' ', ascii_only, nlohmann::json::error_handler_t::replace);
}

void append(std::string& out, const Json& value, const JsonStyle& style, int level) {
  const auto newline = [&](int depth) {
    if (style.indent >= 0) out += '\n' + std::string(static_cast<std::size_t>(style.indent * depth), ' ');
  };
  const char* comma = style.spaces && style.indent < 0 ? ", " : ",";
  const char* colon = style.spaces || style.indent >= 0 ? ": " : ":";
  if (value.is_array()) {
    out += '[';
    const char* separator = "";
    for (const Json& item : value.items()) {
      out += separator;
      newline(level + 1);
      append(out, item, style, level + 1);
      separator = comma;
    }
    if (!value.items().empty()) newline(level);
    out += ']';
  } else if (value.is_object()) {
    out += '{';
    const char* separator = "";
    for (const auto& [key, item] : value.members()) {
      out += separator;
      newline(level + 1);
      append_string(out, key, style.ascii_only);
      out += colon;
      append(out, item, style, level + 1);
      separator = comma;
    }
    if (!value.members().empty()) newline(level);
    out += '}';
  } else if (value.is_string()) {
    append_string(out, value.string(), style.ascii_only);
  } else if (value.is_number()) {
    out += value.number_text();
  } else if (value.is_bool()) {
    out += value.boolean() ? "true" : "false";
  } else {
    out += "null";
  }
}

}  // namespace

Result<Json> parse_json(std::string_view text, const JsonLimits& limits) {
  if (text.size() > limits.max_bytes) {
    return errorf(ErrorCode::kInvalidArgument, "JSON text has {} bytes, at most {} are accepted", text.size(),
                  limits.max_bytes);
  }
  Builder builder(limits);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) {
    return errorf(ErrorCode::kInvalidArgument, "invalid JSON: {}", builder.error());
  }
  return builder.take();
}

std::string dump_json(const Json& value, const JsonStyle& style) {
  std::string out;
  append(out, value, style, 0);
  return out;
}

}  // namespace deepinfer::base
