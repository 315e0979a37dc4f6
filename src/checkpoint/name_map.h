// Tensor names of other releases, normalised to the official form once at load. Source: checkpoint.md 4.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "checkpoint/problems.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

enum class NameStyle : std::uint8_t {
  kOfficial,  ///< "layers.0.attn.wq_a.weight"
  kPrefixed,  ///< official with "model." in front of every name
  kHfA,       ///< prefixed, but "lm_head.weight"; draft stages with or without the prefix
  kHfB,       ///< "model.layers.0.self_attn.q_a_proj.weight", scales "weight_scale_inv", drafts as further layers
};
std::string_view name_style_name(NameStyle style);

/// Decided by the name of the embedding. Errors: kInvalidArgument when two styles' embeddings are present.
Result<NameStyle> detect_name_style(std::span<const std::string> names);

/// Official form of one name. `num_hidden_layers` tells draft layers of style B from trunk layers.
/// Errors: kInvalidArgument when the name belongs to another style (a mixture).
Result<std::string> official_name(std::string_view name, NameStyle style, std::int64_t num_hidden_layers);

}  // namespace deepinfer::checkpoint
