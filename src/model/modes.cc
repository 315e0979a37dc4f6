#include "model/modes.h"

#include <charconv>
#include <functional>

#include "base/error.h"

namespace deepinfer::model {
namespace {

struct Row {
  std::string_view key;
  std::string_view values;  // as listed in messages
  bool (*set)(NumericModes&, std::string_view);
  std::string (*get)(const NumericModes&);
};

bool one_of(std::string& target, std::string_view value, std::initializer_list<std::string_view> accepted) {
  for (const std::string_view name : accepted) {
    if (name == value) return target = value, true;
  }
  return false;
}

bool set_tail(NumericModes& modes, std::string_view value) {
  if (value == "exact") return modes.prefill_tail = -1, true;
  if (value == "full") return modes.prefill_tail = 0, true;
  std::int64_t tokens = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), tokens);
  if (error != std::errc() || end != value.data() + value.size() || tokens < 1) return false;
  return modes.prefill_tail = tokens, true;
}

bool set_range(NumericModes& modes, std::string_view value) {
  for (const double range : {double{numeric::kE4M3FnMax}, double{numeric::kTrn2Range}, double{numeric::kIeeeE4M3Max}}) {
    if (fmt::format("{}", static_cast<int>(range)) == value) return modes.fp8_range = range, true;
  }
  return false;
}

const Row kRows[] = {
    {"index_scores", "official, fp32, bf16_fma4",
     [](NumericModes& m, std::string_view v) {
       return one_of(m.index_scores, v, {"official", "fp32", "bf16_fma4"});
     },
     [](const NumericModes& m) { return m.index_scores; }},
    {"index_key_source", "owner, reference_decode",
     [](NumericModes& m, std::string_view v) {
       m.index_key_source = v == "owner" ? IndexKeySource::kOwner : IndexKeySource::kReferenceDecode;
       return v == "owner" || v == "reference_decode";
     },
     [](const NumericModes& m) {
       return std::string(m.index_key_source == IndexKeySource::kOwner ? "owner" : "reference_decode");
     }},
    {"attention_list", "canonical, reference",
     [](NumericModes& m, std::string_view v) {
       m.attention_list = v == "canonical" ? AttentionList::kCanonical : AttentionList::kReference;
       return v == "canonical" || v == "reference";
     },
     [](const NumericModes& m) {
       return std::string(m.attention_list == AttentionList::kCanonical ? "canonical" : "reference");
     }},
    {"fp8_order", "v16, reference_blocks",
     [](NumericModes& m, std::string_view v) {
       return one_of(m.fp8_order, v, {"v16", "reference_blocks"});
     },
     [](const NumericModes& m) { return m.fp8_order; }},
    {"prefill_tail", "exact, full, or a number of tokens", set_tail,
     [](const NumericModes& m) {
       if (m.prefill_tail < 0) return std::string("exact");
       return m.prefill_tail == 0 ? std::string("full") : fmt::format("{}", m.prefill_tail);
     }},
    {"fp8_range", "448, 224, 240", set_range,
     [](const NumericModes& m) { return fmt::format("{}", static_cast<int>(m.fp8_range)); }},
};

// Modes of numerics.md 11 that belong to other parts (the sampler's are set by the engine) or to later builds.
constexpr std::string_view kLater[] = {"gemm_mode"};

}  // namespace

Status set_mode(NumericModes& modes, std::string_view key, std::string_view value) {
  std::string names;
  for (const Row& row : kRows) {
    if (row.key == key) {
      NumericModes changed = modes;
      if (!row.set(changed, value)) {
        return errorf(ErrorCode::kInvalidArgument, "{} = \"{}\" is not one of {}", key, value, row.values);
      }
      modes = changed;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(row.key);
  }
  for (const std::string_view later : kLater) {
    if (key == later) return errorf(ErrorCode::kUnsupported, "mode {} is not part of this build yet", key);
  }
  return errorf(ErrorCode::kInvalidArgument, "mode \"{}\" is not one of {}", key, names);
}

std::vector<std::string> non_default_modes(const NumericModes& modes) {
  std::vector<std::string> out;
  const NumericModes defaults;
  for (const Row& row : kRows) {
    if (row.get(modes) != row.get(defaults)) out.push_back(fmt::format("{}={}", row.key, row.get(modes)));
  }
  return out;
}

}  // namespace deepinfer::model
