// The table of configuration fields: one row a field, with its key in both file forms. Source: model.md 1.1.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>
#include <vector>

#include "checkpoint/config.h"

namespace deepinfer::checkpoint {

using IntList = std::vector<std::int64_t>;
using ConfigMember = std::variant<std::int64_t ModelConfig::*, double ModelConfig::*, IntList ModelConfig::*>;
using VisionMember = std::variant<std::int64_t VisionConfig::*, double VisionConfig::*>;

enum class Presence : std::uint8_t { kRequired, kOptional };

/// Keys are dotted paths from the root; an empty key means that the form cannot state the field.
/// For lists, the bounds hold for every element.
struct ConfigField {
  ConfigMember member;
  std::string_view hugging_face;
  std::string_view flat;
  double minimum = 0;
  double maximum = 0;
  Presence presence = Presence::kRequired;
  std::string_view alias = {};  ///< second accepted spelling of the Hugging Face key
};

/// vision_config fields; the flat form has them at top level.
struct VisionField {
  VisionMember member;
  std::string_view hugging_face;
  std::string_view flat;
  double minimum = 0;
  double maximum = 0;
};

/// A key with one accepted value (as JSON text). Any other value, or absence where required, is a problem.
struct FixedField {
  std::string_view key;
  std::string_view accepted;
  ErrorCode code = ErrorCode::kInvalidArgument;
  Presence presence = Presence::kRequired;
};

std::span<const ConfigField> config_fields();
std::span<const VisionField> vision_fields();
std::span<const FixedField> fixed_fields(ConfigForm form);

}  // namespace deepinfer::checkpoint
