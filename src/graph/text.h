// Text form of a graph: printer, reader and hash (graph.md 1.4).
//
//   graph "toy" target=any {
//     %0 = input "x" bf16[2,64] role=host
//     %1 = input "gamma" bf16[64] role=weight
//     %2 = rmsnorm(%0, %1) {eps=9.9999999999999995e-21} : bf16[2,64]  # layers.0.attn_norm @ attn/hc_in
//     return %2
//   }
// One item a line, "\n" ends, no trailing blanks; a value is named by its definition, "#k" selects result k of a node
// with several results. The comment carries path and stage: it is part of snapshots, not of the hash. The reader
// accepts any white space inside a line, an optional result count ("%9:2 ="), and reads path and stage back from the
// comment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "graph/ir.h"

namespace deepinfer::graph {

/// The whole text with comments. Values printed as float carry 17 significant digits.
std::string to_text(const Graph& graph);

/// One line of the text ("%2 = rmsnorm(%0, %1) {...} : bf16[2,64]") without comment: for messages and tables.
std::string node_text(const Graph& graph, std::size_t node_idx);

/// SHA-256 (hex) of the text without comments and without the graph's name.
std::string graph_hash(const Graph& graph);

/// What the reader accepts at most; every count is checked before memory is taken for it.
struct TextLimits {
  std::size_t max_bytes = std::size_t{256} << 20;
  std::size_t max_defs = std::size_t{1} << 20;
  std::size_t max_list = 65536;  ///< operands, results, outputs, donations, integers of one list
  std::size_t max_constant_bytes = std::size_t{64} << 20;  ///< of one hex constant
};

/// Reads one graph. Ops are looked up in `registry` (plus the built-in `constant`). The result is not verified: call
/// verify(). `file` becomes the site of the nodes.
/// Errors: kInvalidArgument "file:line: what was found, what was expected"; kResourceExhausted when a limit is met.
Result<Graph> parse_text(std::string_view text, const OpRegistry& registry, std::string_view file = "graph",
                         const TextLimits& limits = {});

}  // namespace deepinfer::graph
