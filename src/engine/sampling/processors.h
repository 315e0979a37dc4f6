// The sampling rules that change a row of logits before the draw, one function each, in the order of
// processor_list.inc.
//
// A rule removes an id by setting it to -inf. All rules work on fp32 logits in place and are pure functions of
// (rules, history, row). Source: numerics.md 10, engine.md 12.1.
#pragma once

#include <limits>
#include <span>
#include <string_view>

#include "engine/sampling/rules.h"

namespace deepinfer::engine {

inline constexpr float kRemoved = -std::numeric_limits<float>::infinity();

#define DI_PROCESSOR(name, when) void apply_##name(const RowContext& context, std::span<float> row);
#include "engine/sampling/processor_list.inc"
#undef DI_PROCESSOR

struct Processor {
  enum class When : std::uint8_t { kAlways, kRandom };
  std::string_view name;
  When when;
  void (*apply)(const RowContext& context, std::span<float> row);
};
/// All rules in order.
std::span<const Processor> processors();

}  // namespace deepinfer::engine
