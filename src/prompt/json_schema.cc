#include "prompt/json_schema.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>

#include "base/error.h"
#include "prompt/request_error.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

template <std::size_t N>
bool contains(const std::string_view (&list)[N], std::string_view word) {
  return std::find(std::begin(list), std::end(list), word) != std::end(list);
}

constexpr std::string_view kTypes[] = {"string", "number", "integer", "boolean", "object", "array", "null"};
// Keywords whose value is one schema, a list of schemas, a map of schemas.
constexpr std::string_view kOneSchema[] = {
    "items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else"};
constexpr std::string_view kSchemaList[] = {"anyOf", "allOf", "oneOf", "prefixItems"};
constexpr std::string_view kSchemaMap[] = {"properties", "patternProperties", "$defs", "definitions"};
constexpr std::string_view kOtherKeywords[] = {"type",
                                               "enum",
                                               "const",
                                               "default",
                                               "description",
                                               "title",
                                               "examples",
                                               "format",
                                               "pattern",
                                               "minLength",
                                               "maxLength",
                                               "minimum",
                                               "maximum",
                                               "exclusiveMinimum",
                                               "exclusiveMaximum",
                                               "multipleOf",
                                               "minItems",
                                               "maxItems",
                                               "uniqueItems",
                                               "minProperties",
                                               "maxProperties",
                                               "required",
                                               "nullable",
                                               "$ref",
                                               "$id",
                                               "$schema",
                                               "$comment"};

tl::unexpected<Error> bad_schema(std::string_view what) {
  return request_error("schema", "schema", fmt::format("not a JSON Schema: {}", what));
}

Status check_type_word(const Json& word) {
  if (word.is_string() && contains(kTypes, word.string())) return {};
  return bad_schema(fmt::format("type {} is not one of string, number, integer, boolean, object, array, null",
                                base::dump_json(word)));
}

Status check_type(const Json& type) {
  if (!type.is_array()) return check_type_word(type);
  for (const Json& word : type.items()) DI_TRY(check_type_word(word));
  return {};
}

Status check_required(const Json& schema, SchemaMode mode) {
  const Json* required = schema.find("required");
  if (required != nullptr && !required->is_array()) return bad_schema("required is not a list");
  const Json* properties = schema.find("properties");
  if (mode != SchemaMode::kStrict || properties == nullptr || !properties->is_object()) return {};
  std::unordered_set<std::string_view> names;
  static const Json::Array kNone;
  for (const Json& item : required != nullptr ? required->items() : kNone) {
    if (item.is_string()) names.insert(item.string());
  }
  for (const auto& [name, value] : properties->members()) {
    if (!names.contains(name)) return bad_schema(fmt::format("strict: property \"{}\" is not required", name));
  }
  return {};
}

Status check_keyword(const std::string& key, const Json& value, SchemaMode mode) {
  if (key == "type") return check_type(value);
  if (contains(kOneSchema, key) && !value.is_array()) return check_schema(value, mode);
  if (contains(kSchemaList, key)) {
    if (!value.is_array()) return bad_schema(key + " is not a list");
    for (const Json& item : value.items()) DI_TRY(check_schema(item, mode));
  }
  if (contains(kSchemaMap, key)) {
    if (!value.is_object()) return bad_schema(key + " is not an object");
    for (const auto& [name, item] : value.members()) DI_TRY(check_schema(item, mode));
  }
  return {};
}

Json strict_keyword(const std::string& key, const Json& value) {
  if (contains(kOneSchema, key)) return strict_schema(value);
  if (contains(kSchemaList, key) && value.is_array()) {
    Json::Array list;
    for (const Json& item : value.items()) list.push_back(strict_schema(item));
    return Json(std::move(list));
  }
  if (contains(kSchemaMap, key) && value.is_object()) {
    Json::Object map;
    for (const auto& [name, item] : value.members()) map.emplace_back(name, strict_schema(item));
    return Json(std::move(map));
  }
  return value;
}

bool is_keyword(const std::string& key) {
  return contains(kOneSchema, key) || contains(kSchemaList, key) || contains(kSchemaMap, key) ||
         contains(kOtherKeywords, key);
}

}  // namespace

Status check_schema(const Json& schema, SchemaMode mode) {
  if (schema.is_bool()) return {};
  if (!schema.is_object()) return bad_schema(fmt::format("found a {}", schema.type_name()));
  for (const auto& [key, value] : schema.members()) DI_TRY(check_keyword(key, value, mode));
  return check_required(schema, mode);
}

Json strict_schema(const Json& schema) {
  if (!schema.is_object()) return schema;
  const Json* properties = schema.find("properties");
  const bool is_object = properties != nullptr && properties->is_object();
  Json::Object out;
  for (const auto& [key, value] : schema.members()) {
    if (!is_keyword(key) || (is_object && (key == "additionalProperties" || key == "required"))) continue;
    out.emplace_back(key, strict_keyword(key, value));
  }
  if (is_object) {
    Json::Array names;
    for (const auto& [name, value] : properties->members()) names.push_back(Json(name));
    out.emplace_back("additionalProperties", false);
    out.emplace_back("required", std::move(names));
  }
  return Json(std::move(out));
}

}  // namespace deepinfer::prompt
