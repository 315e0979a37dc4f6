// The two implementations behind engram_gate's OpDef, and the gate of one stream.
#pragma once

#include <cstdint>

#include "graph/op_def.h"
#include "tensor/bf16.h"

namespace deepinfer::ops {

/// One stream of one token: g of engram_gate.h. All arrays hold `hidden` elements; h_row and key_row are scratch.
struct StreamGate {
  const BF16* h;
  const BF16* key;
  const BF16* wq;
  const BF16* wk;
  std::int64_t hidden;
  float* h_row;
  float* key_row;

  float gate(const isa::Kernels& isa, float eps, float clamp) const;
};

void engram_gate_host(const graph::OpCall& call);
void engram_gate_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
