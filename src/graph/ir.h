// The static graph: inputs, nodes in execution order, outputs and donations (graph.md 1).
//
// A graph holds plain data: two traces of the same model compare equal and print the same text. Everything that depends
// on the process (weight addresses, source locations, output names) lies beside the printed content, is ignored by
// `operator==` and never reaches the hash. Node order is execution order. Shapes are static; control flow does not
// exist.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "graph/attrs.h"
#include "graph/emitter.h"
#include "graph/op_def.h"
#include "tensor/tensor.h"

namespace deepinfer::graph {

/// A value: result `result` of definition `def`. Definitions are numbered as the text form does: inputs first, then
/// nodes, so %7#1 is ValueId{7, 1}.
struct ValueId {
  std::int32_t def = 0;
  std::int32_t result = 0;
  auto operator<=>(const ValueId&) const = default;
};

struct GraphInput {
  std::string name;
  TensorType type;
  InputRole role = InputRole::kHost;
  std::optional<InputRange> range;
  ConstTensorRef weight;  ///< role weight: the checkpoint's tensor (no data for shape-only graphs); not printed

  bool operator==(const GraphInput& other) const {
    return name == other.name && type == other.type && role == other.role && range == other.range;
  }
};

/// Splat integer, splat float, or raw little-endian bytes of the whole tensor.
using ConstantValue = std::variant<std::int64_t, double, std::string>;

struct SourceSite {
  std::string file;  ///< emitting source file, or the text file a graph was read from
  int line = 0;
};

struct Node {
  const OpDef* op = nullptr;  ///< never null
  std::vector<ValueId> operands;
  std::vector<TensorType> results;
  Attrs attrs;
  std::optional<ConstantValue> constant;  ///< set exactly when op == &constant_op()
  std::string path;                       ///< "layers.3.attn.wq_a"
  std::string stage;                      ///< "attn/proj"
  SourceSite site;                        ///< for messages only

  bool operator==(const Node& other) const {
    return op == other.op && operands == other.operands && results == other.results && attrs == other.attrs &&
           constant == other.constant && path == other.path && stage == other.stage;
  }
};

struct GraphOutput {
  ValueId value;
  std::string name;  ///< for lookup by the executor's user; not printed
  bool operator==(const GraphOutput& other) const { return value == other.value; }
};

struct Donation {
  std::int32_t input = 0;
  std::int32_t output = 0;
  bool operator==(const Donation&) const = default;
};

struct Graph {
  std::string name;
  std::string target = "any";  ///< "any", "host" (host-only ops and types allowed) or a device profile
  std::vector<GraphInput> inputs;
  std::vector<Node> nodes;
  std::vector<GraphOutput> outputs;
  std::vector<Donation> donations;

  std::int32_t num_inputs() const { return static_cast<std::int32_t>(inputs.size()); }
  std::int32_t num_defs() const { return num_inputs() + static_cast<std::int32_t>(nodes.size()); }
  bool is_input(ValueId value) const { return value.def < num_inputs(); }
  const Node& node_of(ValueId value) const { return nodes[static_cast<std::size_t>(value.def - num_inputs())]; }
  /// Type of a value; it must exist (`has`).
  const TensorType& type_of(ValueId value) const;
  bool has(ValueId value) const;
  /// Index of the input called `name`, -1 when there is none.
  std::int32_t find_input(std::string_view name) const;
  std::int32_t find_output(std::string_view name) const;
  bool operator==(const Graph&) const = default;
};

/// The built-in op `constant`: no operands, one result, its value in Node::constant.
const OpDef& constant_op();
/// The tensor of a constant. Errors: kInvalidArgument when the value does not fit the type.
Result<Tensor> materialise(const ConstantValue& value, const TensorType& type);

/// Operand index that result `result` of the op is written into, -1 when it has its own storage.
int in_place_operand(const OpDef& op, int result);

}  // namespace deepinfer::graph
