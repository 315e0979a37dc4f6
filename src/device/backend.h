// What a device offers: it compiles a static graph into an executable that runs from fixed buffers.
//
// Life of an executable: compile (plan, allocate), bind once (weights come with the graph, roots and optionally host
// inputs from the caller), then any number of runs. Between runs the caller writes the host inputs in place and reads
// the outputs in place; addresses never change. The host is the first device (graph.md 0).
#pragma once

#include <memory>
#include <string_view>

#include "graph/eager_emitter.h"
#include "graph/ir.h"

namespace deepinfer::device {

class Executable {
 public:
  virtual ~Executable() = default;
  virtual const graph::Graph& graph() const = 0;

  /// Connects memory. `bindings.state` must hold every root of the graph; `bindings.host` may hold memory of the caller
  /// for host and stage inputs (leading slices of larger buffers), the others get buffers of the executable. Names that
  /// the graph does not have are ignored. The memory must outlive the executable or the next bind().
  /// Errors: kInvalidArgument naming the input, the type found and the type expected; kNotFound for a missing root or a
  /// weight without data.
  virtual Status bind(const graph::Bindings& bindings) = 0;

  /// Persistent buffer of a host or stage input that bind() did not take from the caller; no data pointer for other
  /// names.
  virtual TensorRef input(std::string_view name) = 0;
  /// Fixed buffer of an output, valid after run() until the next run(); no data pointer for unknown names.
  virtual ConstTensorRef output(std::string_view name) const = 0;
  /// Outputs by position in the graph (graphs read from text have no output names).
  virtual ConstTensorRef output_at(std::size_t index) const = 0;

  /// Computes the outputs and updates the roots. After the first run it allocates nothing.
  /// Errors: what the device reports; on the host kInvalidArgument for a host input outside its range (checked runs).
  virtual Status run() = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Verifies and compiles. Errors: kInvalidArgument with the violated rules, kUnsupported naming op and node.
  virtual Result<std::unique_ptr<Executable>> compile(graph::Graph graph) = 0;
};

}  // namespace deepinfer::device
