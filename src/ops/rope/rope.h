// Rotary embedding of the last R channels of every head, interleaved pairs.
//
/// (x0, x1) = (x[2i], x[2i+1]) of the last R channels:  x0' = x0*c - x1*s,  x1' = x0*s + x1*c;  conjugate: s -> -s
///
/// x         [T, ..., N]  bf16, N >= R; channels before the last R are copied
/// cos, sin  [T, R/2]     f32, of the token's position (tensor/numeric/rope_table.h)
/// out       like x       bf16, one rounding
/// Numerics: two products and one addition in fp32, no fma.   Errors: shape or dtype.   Threads: ctx.pool over tokens
/// and heads.   Original names: fused_norm_rope (rotation), inverse rope.   Source: numerics.md 6, 8.
#pragma once

#include "graph/emitter.h"

namespace deepinfer::ops {

enum class Rotation : std::uint8_t {
  kForward,
  kConjugate,  ///< undoes kForward: what the attention output needs
};

/// The tables of one step: cos and sin [T, R/2].
struct RopeTables {
  graph::Value cos;
  graph::Value sin;
};

graph::Value rope(graph::Emitter& e, const graph::Value& x, const RopeTables& tables,
                  Rotation rotation = Rotation::kForward);

}  // namespace deepinfer::ops
