#include "checkpoint/name_map.h"

#include <algorithm>
#include <charconv>

#include "base/error.h"
#include "checkpoint/weight_table.h"

namespace deepinfer::checkpoint {
namespace {

constexpr std::string_view kPrefix = "model.";

struct Segment {
  std::string_view parent;  ///< segment before it; empty = any
  std::string_view style_b;
  std::string_view official;
};
// Segments of style B, most specific first. An entry also says that its official spelling is foreign to style B.
constexpr Segment kSegments[] = {
    {"", "self_attn", "attn"},
    {"", "mlp", "ffn"},
    {"", "input_layernorm", "attn_norm"},
    {"", "post_attention_layernorm", "ffn_norm"},
    {"", "q_a_proj", "wq_a"},
    {"", "q_a_norm", "q_norm"},
    {"self_attn", "q_b_proj", "wq_b"},
    {"self_attn", "kv_proj", "wkv"},
    {"", "o_a_proj", "wo_a"},
    {"", "o_b_proj", "wo_b"},
    {"", "sinks", "attn_sink"},
    {"gate", "e_score_correction_bias", "bias"},
    {"gate", "e_score_correction_bias_vl", "bias_vl"},
    {"compressor", "gate_proj", "wgate"},
    {"", "gate_proj", "w1"},
    {"", "up_proj", "w3"},
    {"", "down_proj", "w2"},
    {"", "weight_scale_inv", "scale"},
};
// Spellings that style B shares with the official form where the table of checkpoint.md 4 says nothing else.
constexpr Segment kLenientSegments[] = {
    {"indexer", "q_b_proj", "wq_b"}, {"compressor", "kv_proj", "wkv"}, {"engram", "kv_proj", "wkv"}};

std::vector<std::string_view> split(std::string_view name) {
  std::vector<std::string_view> out;
  while (true) {
    const auto dot = name.find('.');
    out.push_back(name.substr(0, dot));
    if (dot == std::string_view::npos) return out;
    name.remove_prefix(dot + 1);
  }
}

tl::unexpected<Error> mixed(std::string_view name, NameStyle style) {
  return errorf(ErrorCode::kInvalidArgument,
                "{} is not a name of the {} style of this checkpoint; mixed styles are refused", printable(name),
                name_style_name(style));
}

bool draft_or_vision(std::string_view name) { return name.starts_with("mtp.") || is_ignored_name(name); }

bool matches(const Segment& rule, std::string_view parent) { return rule.parent.empty() || rule.parent == parent; }

// One segment of a style B name; empty when only the official form spells it so.
std::string_view map_segment(std::string_view segment, std::string_view parent) {
  for (const Segment& rule : kSegments) {
    if (matches(rule, parent) && segment == rule.style_b) return rule.official;
  }
  for (const Segment& rule : kLenientSegments) {
    if (matches(rule, parent) && segment == rule.style_b) return rule.official;
  }
  for (const Segment& rule : kSegments) {
    const bool hyper_scale = segment == "scale" && parent.ends_with("_hc");
    if (matches(rule, parent) && segment == rule.official && !hyper_scale) return {};
  }
  return segment.starts_with("hc_") ? std::string_view() : segment;
}

// "layers", "43" -> "mtp", "3" for layers behind the trunk.
void map_draft_layer(std::vector<std::string>& parts, std::int64_t num_hidden_layers) {
  if (parts.size() < 2 || parts[0] != "layers") return;
  std::int64_t layer = 0;
  const auto end = parts[1].data() + parts[1].size();
  const auto read = std::from_chars(parts[1].data(), end, layer);
  if (read.ec != std::errc() || read.ptr != end || layer < num_hidden_layers) return;
  parts[0] = "mtp";
  parts[1] = std::to_string(layer - num_hidden_layers);
}

// "attn_hc", "fn" -> "hc_attn_fn"; "weight", "scale" cannot occur because weight_scale_inv is one segment.
void join_hyper_connection(std::vector<std::string>& parts) {
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    if (parts[i] != "attn_hc" && parts[i] != "ffn_hc") continue;
    parts[i] = fmt::format("hc_{}_{}", parts[i].substr(0, parts[i].size() - 3), parts[i + 1]);
    parts.erase(parts.begin() + static_cast<std::ptrdiff_t>(i) + 1);
  }
}

Result<std::string> from_style_b(std::string_view name, std::int64_t num_hidden_layers) {
  const std::string_view whole = name;
  if (name == "lm_head.weight") return std::string("head.weight");
  if (name.starts_with(kPrefix)) {
    name.remove_prefix(kPrefix.size());
  } else if (!draft_or_vision(name)) {
    return mixed(whole, NameStyle::kHfB);
  }
  if (is_ignored_name(name)) return std::string(name);
  if (name == "embed_tokens.weight") return std::string("embed.weight");
  if (name == "embed.weight" || name == "head.weight") return mixed(whole, NameStyle::kHfB);
  if (name.ends_with(".sinks_param.weight")) {
    name.remove_suffix(std::string_view("_param.weight").size());
  }
  std::vector<std::string> parts;
  std::string_view parent;
  for (const std::string_view segment : split(name)) {
    const std::string_view mapped = map_segment(segment, parent);
    if (mapped.empty()) return mixed(whole, NameStyle::kHfB);
    parts.emplace_back(mapped);
    parent = segment;
  }
  map_draft_layer(parts, num_hidden_layers);
  join_hyper_connection(parts);
  return fmt::format("{}", fmt::join(parts, "."));
}

}  // namespace

std::string_view name_style_name(NameStyle style) {
  static constexpr std::string_view kNames[] = {"official", "prefixed official", "Hugging Face A", "Hugging Face B"};
  return kNames[static_cast<std::size_t>(style)];
}

Result<NameStyle> detect_name_style(std::span<const std::string> names) {
  const auto has = [&](std::string_view name) { return std::find(names.begin(), names.end(), name) != names.end(); };
  const bool official = has("embed.weight");
  const bool prefixed = has("model.embed.weight");
  const bool style_b = has("model.embed_tokens.weight");
  if (official + prefixed + style_b > 1) {
    return errorf(ErrorCode::kInvalidArgument,
                  "mixed name styles: more than one of embed.weight, model.embed.weight, model.embed_tokens.weight");
  }
  if (style_b) return NameStyle::kHfB;
  if (prefixed) return has("model.head.weight") ? NameStyle::kPrefixed : NameStyle::kHfA;
  return NameStyle::kOfficial;
}

Result<std::string> official_name(std::string_view name, NameStyle style, std::int64_t num_hidden_layers) {
  if (style == NameStyle::kHfB) return from_style_b(name, num_hidden_layers);
  const bool has_prefix = name.starts_with(kPrefix);
  const bool lm_head = name == "lm_head.weight";
  if (style == NameStyle::kOfficial) {
    if (has_prefix || lm_head) return mixed(name, style);
    return std::string(name);
  }
  if (lm_head && style == NameStyle::kHfA) return std::string("head.weight");
  if (style == NameStyle::kHfA && name == "model.head.weight") return mixed(name, style);
  if (has_prefix) return std::string(name.substr(kPrefix.size()));
  if (style == NameStyle::kHfA && draft_or_vision(name)) return std::string(name);
  return mixed(name, style);
}

}  // namespace deepinfer::checkpoint
