// The structural verifier: rules G001..G011 of graph.md 1.5, independent of any target's capabilities. Run after
// tracing, after every pass and on every graph that was read from text.
//
//   G001 operands defined earlier, no node without a used result     G007 consumed root version used, or not returned
//   G002 result types equal the inferred ones                        G008 collectives numbered 0, 1, 2, ...
//   G003 extents >= 1, rank <= 6, element counts in bounds           G009 root read through an undeclared view
//   G004 attributes equal the op's declaration                       G010 output is an unchanged input
//   G005 host-only op or dtype outside host graphs                   G011 input names unique, [A-Za-z0-9_.]
//   G006 donations well formed
// A node with several results may leave some unused (the others are intentional dead outputs); a node without any used
// result is an error.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/ir.h"

namespace deepinfer::graph {

struct Violation {
  std::string_view rule;  ///< "G001"
  std::string where;      ///< "graph decode.b8, layers.3.attn.wq_a (attn/proj) model/attention.cc:88"
  std::string found;
  std::string expected;
  /// "G001 <where>: found ..., expected ..."
  std::string to_string() const;
};

/// A view of the cache layout (graph.md 4.2): record j of a root row lies at byte base + j * row_bytes, 0 <= j < rows.
struct DeclaredView {
  std::string root;  ///< name of the state input
  std::int64_t base = 0;
  std::int64_t rows = 0;
};

struct VerifyOptions {
  /// Every view that may be used; empty = views only have to lie inside the root's row.
  std::span<const DeclaredView> views = {};
};

/// All violations, in node order; empty when the graph is well formed.
std::vector<Violation> find_violations(const Graph& graph, const VerifyOptions& options = {});

/// Errors: kInvalidArgument with every violation (the first 20) on a line of its own.
Status verify(const Graph& graph, const VerifyOptions& options = {});

}  // namespace deepinfer::graph
