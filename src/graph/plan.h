// Buffer planning (graph.md 10.3): where every value of a graph lives while the graph runs.
//
// Inputs and constants are bound, never copied. Results that update an operand in place share its storage, views are an
// offset into it, and a result may take over an operand that dies at its node when the op allows it (OpDef::may_reuse).
// Everything else gets a place in one arena: buffers in descending order of size (then definition order), each at the
// lowest offset that is free during its whole life, from the defining node to the last use; outputs live to the end.
// Sizes are rounded up to 64 bytes. The same graph always gives the same plan.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "graph/ir.h"

namespace deepinfer::graph {

enum class Storage : std::uint8_t {
  kInput,     ///< memory of input `index`
  kConstant,  ///< memory of the constant defined by node `index`
  kArena,     ///< the arena
};

/// Why a value has the place it has.
enum class Placement : std::uint8_t {
  kOwn,      ///< a buffer of its own
  kView,     ///< inside its first operand
  kInPlace,  ///< an updated operand (root versions)
  kReuse,    ///< over an operand that dies at the node
  kDonated,  ///< over a stage input that is dead by then
};
std::string_view storage_name(Storage storage);
std::string_view placement_name(Placement placement);

struct PlanEntry {
  ValueId value;
  Storage storage = Storage::kArena;
  Placement placement = Placement::kOwn;
  std::int32_t index = -1;  ///< input or node index; -1 in the arena
  std::int64_t offset = 0;  ///< bytes from the start of that storage
  std::int64_t bytes = 0;   ///< exact size of the value
  std::int32_t first = 0;   ///< node index where the value appears
  std::int32_t last = 0;    ///< node index of the last use of its buffer; number of nodes = after the end
};

struct Plan {
  std::int64_t arena_bytes = 0;     ///< what the executor allocates: peak_bytes
  std::int64_t peak_bytes = 0;      ///< highest end of a buffer in the arena
  std::int64_t max_live_bytes = 0;  ///< maximum over time of the bytes of live arena buffers: no plan can be smaller
  std::int64_t naive_bytes = 0;     ///< one buffer for every result
  std::vector<PlanEntry> entries;   ///< every result of every node, in definition order
  std::vector<std::int32_t> first_entry;  ///< per node: index of its result 0 in `entries`

  /// Place of a value that is no input.
  const PlanEntry& entry(const Graph& graph, ValueId value) const;
};

/// The graph must be verified.
Plan plan_buffers(const Graph& graph);

/// One line a value and a summary, for snapshots and `graph plan`.
std::string plan_table(const Graph& graph, const Plan& plan);
base::Json plan_json(const Graph& graph, const Plan& plan);

}  // namespace deepinfer::graph
