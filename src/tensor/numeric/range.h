// Largest values of the 8-bit formats and of the device ranges. The only place with these literals (numerics.md 1, 4).
#pragma once

namespace deepinfer::numeric {

inline constexpr float kE4M3FnMax = 448.0F;    ///< largest e4m3fn (OCP) value; activation range of profile ocp448
inline constexpr float kIeeeE4M3Max = 240.0F;  ///< largest finite e4m3 (IEEE) value, what Trainium2 can hold
/// Activation range on Trainium2: half of 448, so scales double exactly and codes move one binade down.
inline constexpr float kTrn2Range = 224.0F;
inline constexpr float kE2M1Max = 6.0F;  ///< largest e2m1 value

}  // namespace deepinfer::numeric
