// The implementations behind the two OpDefs and their shared operand layout.
#pragma once

#include "graph/op_def.h"

namespace deepinfer::ops {

/// Score of a row that must not be selected.
inline constexpr float kMaskedScore = -1e30F;

/// Operands by position; index -1 means absent. The varlen form has seq behind the block table.
struct IndexOperandPositions {
  int block_table = 3;
  int seq = -1;
  int weights = 4;
  int visible = 5;
  int candidates = -1;
  int ccount = -1;
};
constexpr IndexOperandPositions index_positions(std::size_t operands, bool varlen) {
  const int shift = varlen ? 1 : 0;
  IndexOperandPositions p{3, varlen ? 4 : -1, 4 + shift, 5 + shift};
  if (static_cast<int>(operands) == 8 + shift) {
    p.candidates = 6 + shift;
    p.ccount = 7 + shift;
  }
  return p;
}

void index_score_host(const graph::OpCall& call);
void index_score_reference(const graph::OpCall& call);
void index_score_varlen_host(const graph::OpCall& call);
void index_score_varlen_reference(const graph::OpCall& call);
}  // namespace deepinfer::ops
