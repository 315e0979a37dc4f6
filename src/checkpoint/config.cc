#include "checkpoint/config.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <type_traits>

#include "base/error.h"
#include "base/io.h"
#include "checkpoint/config_fields.h"

namespace deepinfer::checkpoint {
namespace {

using base::Json;

constexpr std::size_t kMaxConfigBytes = std::size_t{16} << 20;

// Value at a dotted path, nullptr when a step is missing.
const Json* at_path(const Json& root, std::string_view path) {
  const Json* value = &root;
  while (value != nullptr && !path.empty()) {
    const auto dot = path.find('.');
    value = value->find(path.substr(0, dot));
    path = dot == std::string_view::npos ? std::string_view() : path.substr(dot + 1);
  }
  return value;
}

void set_path(Json& root, std::string_view path, Json value) {
  const auto dot = path.find('.');
  if (dot == std::string_view::npos) {
    root.set(path, std::move(value));
    return;
  }
  const auto head = path.substr(0, dot);
  Json child = root.find(head) == nullptr ? Json::object() : *root.find(head);
  set_path(child, path.substr(dot + 1), std::move(value));
  root.set(head, std::move(child));
}

std::string shown(const Json& value) { return printable(base::dump_json(value)); }

// Reads one member type; false when the JSON value is of another type.
bool read_value(const Json& value, std::int64_t& out) {
  const auto number = value.as_int();
  if (number) out = *number;
  return number.has_value();
}
bool read_value(const Json& value, double& out) {
  const auto number = value.as_double();
  if (number) out = *number;
  return number.has_value() && std::isfinite(*number);
}
bool read_value(const Json& value, IntList& out) {
  if (!value.is_array() || value.items().size() > 4096) return false;
  out.clear();
  for (const Json& item : value.items()) {
    std::int64_t number = 0;
    if (!read_value(item, number)) return false;
    out.push_back(number);
  }
  return true;
}

bool in_range(double value, double minimum, double maximum) { return value >= minimum && value <= maximum; }
bool in_range(std::int64_t value, double minimum, double maximum) {
  return in_range(static_cast<double>(value), minimum, maximum);
}
bool in_range(const IntList& list, double minimum, double maximum) {
  return std::all_of(list.begin(), list.end(), [&](std::int64_t value) { return in_range(value, minimum, maximum); });
}

std::string_view kind_name(std::int64_t) { return "an integer"; }
std::string_view kind_name(double) { return "a number"; }
std::string_view kind_name(const IntList&) { return "an array of integers, each"; }

struct FieldBounds {
  std::string_view key;
  double minimum;
  double maximum;
};

template <typename T>
void read_field(const Json& value, T& out, const FieldBounds& field, Problems& problems) {
  T read{};
  if (read_value(value, read) && in_range(read, field.minimum, field.maximum)) {
    out = std::move(read);
    return;
  }
  problems.add(ErrorCode::kInvalidArgument, std::string(field.key), "is {}, accepted: {} from {} to {}", shown(value),
               kind_name(out), field.minimum, field.maximum);
}

void check_fixed(const Json& root, ConfigForm form, Problems& problems) {
  for (const FixedField& field : fixed_fields(form)) {
    const Json* value = at_path(root, field.key);
    if (value == nullptr) {
      if (field.presence == Presence::kRequired) {
        problems.add(ErrorCode::kInvalidArgument, std::string(field.key), "is missing, accepted: {}", field.accepted);
      }
    } else if (base::dump_json(*value) != field.accepted) {
      problems.add(field.code, std::string(field.key), "is {}, accepted: {}", shown(*value), field.accepted);
    }
  }
}

void parse_fields(const Json& root, ConfigForm form, ModelConfig& config, Problems& problems) {
  for (const ConfigField& field : config_fields()) {
    const auto key = form == ConfigForm::kFlat ? field.flat : field.hugging_face;
    if (key.empty()) continue;
    const Json* value = at_path(root, key);
    if (value == nullptr && !field.alias.empty() && form == ConfigForm::kHuggingFace)
      value = at_path(root, field.alias);
    if (value == nullptr) {
      if (field.presence == Presence::kRequired) {
        problems.add(ErrorCode::kInvalidArgument, std::string(key), "is missing");
      }
      continue;
    }
    std::visit(
        [&](auto member) {
          read_field(*value, config.*member, {key, field.minimum, field.maximum}, problems);
        },
        field.member);
  }
}

void parse_vision(const Json& root, ConfigForm form, ModelConfig& config, Problems& problems) {
  const bool flat = form == ConfigForm::kFlat;
  const Json* block = root.find(flat ? "vision_dim" : "vision_config");
  if (block == nullptr || block->is_null()) return;
  VisionConfig vision;
  for (const VisionField& field : vision_fields()) {
    const auto key = flat ? field.flat : field.hugging_face;
    const Json* value = at_path(root, key);
    if (value == nullptr) {
      problems.add(ErrorCode::kInvalidArgument, std::string(key), "is missing (vision block)");
      continue;
    }
    std::visit(
        [&](auto member) {
          read_field(*value, vision.*member, {key, field.minimum, field.maximum}, problems);
        },
        field.member);
  }
  const std::string_view ratio_key = flat ? "max_wh_ratio" : "vision_config.max_wh_ratio";
  const Json* ratio = at_path(root, ratio_key);
  if (ratio != nullptr && !ratio->is_null()) {
    double value = 0;
    read_field(*ratio, value, {ratio_key, 1, 1e6}, problems);
    vision.max_wh_ratio = value;
  }
  config.vision = vision;
}

// index_k_source_layer_ids: accepted with its default, the KV owners.
void check_key_owners(const Json& root, ConfigForm form, const ModelConfig& config, Problems& problems) {
  for (const char* name : {"index_k_source_layer_ids", "index_k_source_layers"}) {
    const std::string key = form == ConfigForm::kFlat ? name : std::string("text_config.") + name;
    const Json* value = at_path(root, key);
    IntList list;
    if (value == nullptr || value->is_null()) continue;
    if (!read_value(*value, list) || list != config.kv_source_layer_ids) {
      problems.add(ErrorCode::kUnsupported, key, "is {}, accepted: the KV owners [{}]", shown(*value),
                   fmt::join(config.kv_source_layer_ids, ", "));
    }
  }
}

template <typename T>
std::string text_of(const T& value) {
  return fmt::format("{}", value);
}
std::string text_of(const IntList& value) { return fmt::format("[{}]", fmt::join(value, ", ")); }

template <typename T>
Json json_of(const T& value) {
  return Json(value);
}
Json json_of(const IntList& value) {
  Json out = Json::array();
  for (const std::int64_t item : value) out.push(item);
  return out;
}

void compare_vision(const VisionConfig& a, const VisionConfig& b, Problems& problems) {
  for (const VisionField& field : vision_fields()) {
    std::visit(
        [&](auto member) {
          if (a.*member == b.*member) return;
          problems.add(ErrorCode::kInvalidArgument, std::string(field.hugging_face),
                       "is {} in config.json, but {} is {} in inference/config.json", a.*member, field.flat, b.*member);
        },
        field.member);
  }
  if (a.max_wh_ratio != b.max_wh_ratio) {
    problems.add(ErrorCode::kInvalidArgument, "max_wh_ratio", "differs between the two config files");
  }
}

std::optional<ModelConfig> parse_text(std::optional<std::string_view> text, ConfigForm form, Problems& problems) {
  if (!text) return std::nullopt;
  const std::string file = form == ConfigForm::kFlat ? "inference/config.json" : "config.json";
  const auto root = base::parse_json(*text, {.max_bytes = kMaxConfigBytes, .max_depth = 64});
  if (!root || !root->is_object()) {
    problems.add(ErrorCode::kDataCorruption, file, "{}",
                 root ? std::string("must be an object, is ") + std::string(root->type_name()) : root.error().message);
    return std::nullopt;
  }
  Problems own;
  ModelConfig config = parse_config(*root, form, own);
  problems.merge(own, file);
  if (!own.empty()) return std::nullopt;
  return config;
}

Result<std::optional<std::string>> read_optional(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return std::optional<std::string>();
  DI_ASSIGN(std::string text, base::read_file(path, kMaxConfigBytes));
  return std::optional<std::string>(std::move(text));
}

}  // namespace

ModelConfig parse_config(const Json& root, ConfigForm form, Problems& problems) {
  ModelConfig config;
  check_fixed(root, form, problems);
  parse_fields(root, form, config, problems);
  parse_vision(root, form, config, problems);
  check_key_owners(root, form, config, problems);
  if (form == ConfigForm::kFlat) {
    // The flat form has no context length: YaRN covers factor x original positions (1,048,576 in the release).
    config.max_position_embeddings =
        static_cast<std::int64_t>(config.rope_factor * static_cast<double>(config.original_max_position_embeddings));
  }
  return config;
}

void compare_configs(const ModelConfig& hugging_face, const ModelConfig& flat, Problems& problems) {
  for (const ConfigField& field : config_fields()) {
    if (field.flat.empty()) continue;
    std::visit(
        [&](auto member) {
          if (hugging_face.*member == flat.*member) return;
          problems.add(ErrorCode::kInvalidArgument, std::string(field.hugging_face),
                       "is {} in config.json, but {} is {} in inference/config.json", text_of(hugging_face.*member),
                       field.flat, text_of(flat.*member));
        },
        field.member);
  }
  // A text-only file beside one with a vision block is no contradiction: absence states nothing.
  if (hugging_face.vision && flat.vision) compare_vision(*hugging_face.vision, *flat.vision, problems);
}

Result<ModelConfig> load_config_text(std::optional<std::string_view> hugging_face,
                                     std::optional<std::string_view> flat) {
  if (!hugging_face && !flat) {
    return make_error(ErrorCode::kNotFound, "neither config.json nor inference/config.json exists");
  }
  Problems problems;
  const auto first = parse_text(hugging_face, ConfigForm::kHuggingFace, problems);
  const auto second = parse_text(flat, ConfigForm::kFlat, problems);
  if (first && second) compare_configs(*first, *second, problems);
  if (problems.empty()) validate_config(first ? *first : *second, problems);
  DI_TRY(problems.to_status("configuration"));
  return first ? *first : *second;
}

Result<ModelConfig> load_config(const std::string& dir) {
  DI_ASSIGN(const auto hugging_face, read_optional(dir + "/config.json"));
  DI_ASSIGN(const auto flat, read_optional(dir + "/inference/config.json"));
  auto config = load_config_text(hugging_face, flat);
  if (!config) return with_context(std::move(config).error(), dir);
  return config;
}

Json config_to_json(const ModelConfig& config, ConfigForm form) {
  Json root = Json::object();
  for (const FixedField& field : fixed_fields(form)) {
    const bool vision = field.key.starts_with("vision_config");
    if (vision ? !config.vision
               : field.presence == Presence::kOptional && field.key.find('.') != std::string_view::npos &&
                     !field.key.ends_with("model_type")) {
      continue;
    }
    set_path(root, field.key, *base::parse_json(field.accepted));
  }
  for (const ConfigField& field : config_fields()) {
    const auto key = form == ConfigForm::kFlat ? field.flat : field.hugging_face;
    if (key.empty()) continue;
    std::visit([&](auto member) { set_path(root, key, json_of(config.*member)); }, field.member);
  }
  if (!config.vision) return root;
  for (const VisionField& field : vision_fields()) {
    const auto key = form == ConfigForm::kFlat ? field.flat : field.hugging_face;
    std::visit([&](auto member) { set_path(root, key, json_of((*config.vision).*member)); }, field.member);
  }
  if (config.vision->max_wh_ratio) {
    set_path(root, form == ConfigForm::kFlat ? "max_wh_ratio" : "vision_config.max_wh_ratio",
             Json(*config.vision->max_wh_ratio));
  }
  return root;
}

}  // namespace deepinfer::checkpoint
