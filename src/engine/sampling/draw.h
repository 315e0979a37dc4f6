// Choosing an id from one processed row of logits (-inf = not kept). Source: numerics.md 10, engine.md 12.4.
#pragma once

#include <cstdint>
#include <span>

#include "engine/sampling/random_stream.h"

namespace deepinfer::engine {

/// Id of the largest value, the lowest on ties (-0 equals +0).
std::int32_t argmax(std::span<const float> row);

/// argmax of double(row[id]) + noise(id), lowest id on ties. At least one entry is finite. Exact, but computes the
/// noise only of ids that can still win.
std::int32_t draw_gumbel(std::span<const float> row, const RandomStream& random);

/// First id whose running sum of exp32(row[id] - max), in double over ascending ids, exceeds u * total.
std::int32_t draw_cdf(std::span<const float> row, double u);

}  // namespace deepinfer::engine
