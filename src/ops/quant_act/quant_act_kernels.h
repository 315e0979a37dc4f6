// The two implementations behind quant_act's OpDef, and the independent quantiser that references share.
#pragma once

#include "graph/op_def.h"
#include "ops/quant_act/quant_format.h"

namespace deepinfer::ops {
void quant_act_host(const graph::OpCall& call);
void quant_act_reference(const graph::OpCall& call);

/// Quantises n values by searching the code tables: the definition of numerics.md 3 without the encoders' bit tricks.
void quantise_by_search(QuantFormat format, const BF16* x, std::int64_t n, double max, std::uint8_t* codes,
                        std::uint8_t* scales);
}  // namespace deepinfer::ops
