// Records the nodes that model code emits into a static graph.
//
//   TraceEmitter trace("host", "decode.b8");
//   Value logits = model.step(trace, ...);
//   Graph graph = trace.finish({{"logits", logits}});
//
// Inputs (weights, host inputs, state roots) appear on first request and are memoised by name. A state root has
// versions: an op that updates it in place consumes the version it was given, `state()` returns the newest one, and
// using an older one afterwards is refused at once (G007). Whatever would tie the graph to data or to this machine is a
// GraphBreak "graph break at layers.4.attn (attn/index): host read of topk_select#1" and is never recovered
// (graph.md 3.3). While the trace is open the thread carries a base::TraceGuard, so environment, clock and device
// queries break it too.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/trace_guard.h"
#include "graph/emitter.h"
#include "graph/ir.h"

namespace deepinfer::graph {

class TraceEmitter : public Emitter {
 public:
  /// `target`: "host" (the host executor, also "any") or the name of a device profile.
  /// Throws GraphBreak when this thread is tracing already.
  TraceEmitter(std::string target, std::string name);
  ~TraceEmitter() override;
  TraceEmitter(const TraceEmitter&) = delete;
  TraceEmitter& operator=(const TraceEmitter&) = delete;

  Value weight(const WeightRef& ref) override;
  Value host(std::string_view name, const TensorType& type, std::optional<InputRange> range = {}) override;
  /// The newest version of the root.
  Value state(std::string_view name, const TensorType& type) override;
  [[noreturn]] Value constant(const Tensor& tensor) override;
  bool is_eager() const override { return false; }
  /// Values of a trace have no data: always a GraphBreak.
  [[noreturn]] ConstTensorRef read(const Value& value) const;

  /// Closes the trace: outputs in the order of their names, then the newest version of every written state (named like
  /// the state, donated). Nodes without a used result are dropped. The graph is verified; a violation is a bug of the
  /// model code: CheckFailure. No emission is possible afterwards.
  Graph finish(const std::map<std::string, Value, std::less<>>& outputs);

 protected:
  std::vector<Value> emit_node(const OpDef& op, std::span<const Value> operands, Attrs attrs,
                               std::vector<TensorType> results, NodeSite site) override;

 private:
  struct TraceNode;
  class Guard;
  static TraceNode& traced(const Value& value);
  void require_open() const;
  Value input(GraphInput input);
  void check_dtype(const TensorType& type, std::string_view what) const;
  /// Refuses operands whose storage an earlier node has overwritten, and marks those that this node overwrites.
  void consume(const OpDef& op, std::span<const Value> operands, const NodeSite& site);
  std::vector<GraphOutput> collect_outputs(const std::map<std::string, Value, std::less<>>& outputs) const;
  std::vector<std::int32_t> number_live_nodes(const std::vector<GraphOutput>& outputs) const;

  std::string target_;
  std::string name_;
  std::unique_ptr<Guard> guard_;  // empty once the trace is closed
  std::vector<GraphInput> inputs_;
  std::vector<Value> newest_;  // per input its newest version
  std::map<std::string, std::size_t, std::less<>> by_name_;
  std::vector<Node> nodes_;  // operands: input i is def -1 - i, node i is def i, until finish() renumbers
};

}  // namespace deepinfer::graph
