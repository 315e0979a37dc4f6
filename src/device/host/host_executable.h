// The planned executor: walks a graph's nodes with addresses and shapes resolved in advance (graph.md 10.4).
//
// compile() verifies the graph and plans its buffers; bind() resolves every operand and result to an address and builds
// one OpCall a node. run() then only calls kernels: no allocation after the first run (scratch memory grows there), no
// lock besides the thread pool, no look-up by name. Bits equal those of EagerEmitter, on any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "device/backend.h"
#include "graph/plan.h"

namespace deepinfer::device {

/// Checks around every run: the arena is poisoned with 0xFB (a NaN in every float type) before it, host inputs are
/// compared with their declared ranges, and inputs that the graph only reads must keep their bytes.
enum class RunChecks : std::uint8_t { kOff, kOn };
#ifdef NDEBUG
inline constexpr RunChecks kDefaultRunChecks = RunChecks::kOff;
#else
inline constexpr RunChecks kDefaultRunChecks = RunChecks::kOn;
#endif

/// Accumulated over runs. `bytes` of one run: operands read plus results written, once each; roots count nothing, since
/// a node touches only some of their rows.
struct NodeProfile {
  std::int64_t runs = 0;
  std::int64_t wall_ns = 0;
  std::int64_t bytes = 0;
};

class HostExecutable : public Executable {
 public:
  /// `ctx` (pool, instruction set, scratch) is used by run() on the calling thread and must outlive the executable.
  /// Errors: as Backend::compile.
  static Result<std::unique_ptr<HostExecutable>> compile(graph::Graph graph, const graph::KernelContext& ctx,
                                                         RunChecks checks = kDefaultRunChecks);

  const graph::Graph& graph() const override { return graph_; }
  const graph::Plan& plan() const { return plan_; }
  /// Arena plus own input buffers and constants.
  std::int64_t workspace_bytes() const;

  Status bind(const graph::Bindings& bindings) override;
  TensorRef input(std::string_view name) override;
  ConstTensorRef output(std::string_view name) const override;
  ConstTensorRef output_at(std::size_t index) const override;
  Status run() override;

  /// Called after every node of a run, as EagerEmitter does; an empty function removes it.
  void set_observer(graph::NodeObserver observer) { observer_ = std::move(observer); }
  /// Starts per-node measurement from zero.
  void start_profile();
  std::span<const NodeProfile> profile() const { return profile_; }
  /// "node,path,stage,op,runs,wall_ns,bytes" and one line a node.
  std::string profile_csv() const;

 private:
  struct Step {
    graph::KernelFn kernel;  // null for pure views
    graph::OpCall call;
    std::size_t node_idx;
  };

  HostExecutable(graph::Graph graph, const graph::KernelContext& ctx, RunChecks checks);
  Status allocate();
  Status bind_input(std::size_t input_idx, const graph::Bindings& bindings);
  Status build_steps();
  /// Address of a value's first byte; segmented weights have none.
  std::byte* address(graph::ValueId value) const;
  ConstTensorRef operand_ref(graph::ValueId value) const;
  void run_plain();
  void run_instrumented();
  Status check_ranges() const;
  std::uint64_t read_only_digest() const;
  std::int64_t traffic(graph::ValueId value) const;

  graph::Graph graph_;
  graph::Plan plan_;
  graph::KernelContext ctx_;
  RunChecks checks_;
  Buffer arena_;
  std::vector<Tensor> own_inputs_;          // per input; empty where the caller or the checkpoint provides the memory
  std::vector<Tensor> constants_;           // per node; empty for other nodes
  std::vector<ConstTensorRef> input_refs_;  // per input, set by bind()
  std::vector<ConstTensorRef> in_refs_;     // operands of all nodes, one after the other
  std::vector<TensorRef> out_refs_;
  std::vector<Step> steps_;
  bool bound_ = false;
  graph::NodeObserver observer_;
  std::vector<NodeProfile> profile_;  // per node; empty while off
};

class HostBackend : public Backend {
 public:
  /// `ctx` must outlive every executable.
  explicit HostBackend(const graph::KernelContext& ctx) : ctx_(ctx) {}
  std::string_view name() const override { return "host"; }
  Result<std::unique_ptr<Executable>> compile(graph::Graph graph) override;

 private:
  graph::KernelContext ctx_;
};

}  // namespace deepinfer::device
