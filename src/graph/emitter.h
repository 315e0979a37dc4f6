// The emitter: what model code is written against. Running it eagerly computes, running it under a trace records.
//
// `Value` has a type and no accessor to data, so no branch of model code can depend on tensor contents: a graph break
// is impossible by construction (graph.md 3.1). Ops are emitted through the typed functions in each op's header
// (ops::rmsnorm(e, x, gamma, eps)), which call `emit`. Misuse by model code is a bug: CheckFailure with the node's path.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/attrs.h"
#include "graph/op_def.h"
#include "tensor/tensor.h"

namespace deepinfer::graph {

class Emitter;

/// Source position of a call, as std::source_location (which clang 14 lacks with this standard library).
struct CallSite {
  const char* file = "";
  int line = 0;
  static constexpr CallSite current(const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
    return {file, line};
  }
};

/// Handle of one tensor of the running computation. Copies are cheap; an empty Value means "not present".
class Value {
 public:
  /// What an emitter keeps behind a handle.
  struct Node {
    TensorType type;
    const Emitter* owner = nullptr;
    virtual ~Node() = default;
  };

  Value() = default;
  explicit Value(std::shared_ptr<Node> node) : node_(std::move(node)) {}
  explicit operator bool() const { return node_ != nullptr; }
  const TensorType& type() const;
  const Shape& shape() const { return type().shape; }
  const std::shared_ptr<Node>& node() const { return node_; }  ///< for emitters only

 private:
  std::shared_ptr<Node> node_;
};

enum class InputRole : std::uint8_t { kWeight, kState, kHost, kStage };
std::string_view role_name(InputRole role);

/// Inclusive range of an integer host input (CS-23).
struct InputRange {
  std::int64_t lo = 0;
  std::int64_t hi = 0;
  bool operator==(const InputRange&) const = default;
};

/// A weight as the checkpoint maps it; `name` becomes the graph input's name. Lives as long as the model.
struct WeightRef {
  std::string name;
  ConstTensorRef tensor;
  explicit operator bool() const { return !name.empty(); }
};

class Emitter {
 public:
  virtual ~Emitter() = default;

  /// Emits one node and returns its results. Checks operand ownership, completes attributes, infers result types.
  std::vector<Value> emit(const OpDef& op, std::span<const Value> operands, const Attrs& attrs = {},
                          CallSite site = CallSite::current());
  /// emit() for ops with exactly one result.
  Value emit_one(const OpDef& op, std::span<const Value> operands, const Attrs& attrs = {},
                 CallSite site = CallSite::current());

  /// The weight as a value; the same weight gives the same input.
  virtual Value weight(const WeightRef& ref) = 0;
  /// A per-step input prepared by the host (positions, slots, tables). The type must equal what the step provides.
  virtual Value host(std::string_view name, const TensorType& type, std::optional<InputRange> range = {}) = 0;
  /// A root allocation (kv_blocks, kv_states).
  virtual Value state(std::string_view name, const TensorType& type) = 0;
  /// A value given from outside (replay of recorded tensors). A graph break under a trace.
  virtual Value constant(const Tensor& tensor) = 0;
  /// True when values are computed at once: prefill forms with ragged shapes are allowed.
  virtual bool is_eager() const = 0;

  /// Module path of the next nodes, dotted: "layers.3.attn". Used by errors, captures and reports.
  const std::string& path() const { return path_; }
  const std::string& stage() const { return stage_; }
  /// Name of the next node within the path ("wq_a" -> "layers.3.attn.wq_a"); used once.
  Emitter& at(std::string_view leaf);

 protected:
  struct NodeSite {
    std::string path;
    std::string stage;
    CallSite site;
  };
  virtual std::vector<Value> emit_node(const OpDef& op, std::span<const Value> operands, Attrs attrs,
                                       std::vector<TensorType> results, NodeSite site) = 0;

 private:
  friend class PathScope;
  friend class StageScope;
  std::string path_;
  std::string stage_;
  std::string leaf_;
};

/// Appends a path element for the lifetime of the scope.
class PathScope {
 public:
  PathScope(Emitter& emitter, std::string_view element);
  ~PathScope();
  PathScope(const PathScope&) = delete;
  PathScope& operator=(const PathScope&) = delete;

 private:
  Emitter& emitter_;
  std::size_t old_size_;
};

/// Tags nodes with "<region>/<stage>" for the lifetime of the scope (graph.md 6.2).
class StageScope {
 public:
  StageScope(Emitter& emitter, std::string_view stage);
  ~StageScope();
  StageScope(const StageScope&) = delete;
  StageScope& operator=(const StageScope&) = delete;

 private:
  Emitter& emitter_;
  std::string old_;
};

/// A condition that would make the trace depend on data or on the machine (graph.md 3.3). Never recovered.
class GraphBreak : public CheckFailure {
 public:
  using CheckFailure::CheckFailure;
};

}  // namespace deepinfer::graph
