// Runs every op at once with its host kernel, on tensors of any number of tokens.
//
// Values own their storage and free it when the last handle goes; views (reshape, contiguous slice) and in-place state
// results share the operand's storage. Every call passes through an optional observer, which is how captures, recorded
// runs and golden comparisons see the intermediates.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <unordered_map>

#include "graph/emitter.h"

namespace deepinfer::graph {

/// Named tensors of one step, and the roots. Does not own storage: references must outlive the emitter.
struct Bindings {
  std::map<std::string, ConstTensorRef, std::less<>> host;
  std::map<std::string, TensorRef, std::less<>> state;
};

/// Called after each node with its path, op and results.
using NodeObserver = std::function<void(const std::string& path, const OpDef& op, std::span<const TensorRef> results)>;

class EagerEmitter : public Emitter {
 public:
  EagerEmitter(KernelContext ctx, const Bindings& bindings) : ctx_(ctx), bindings_(bindings) {}

  Value weight(const WeightRef& ref) override;
  Value host(std::string_view name, const TensorType& type, std::optional<InputRange> range = {}) override;
  Value state(std::string_view name, const TensorType& type) override;
  Value constant(const Tensor& tensor) override;
  bool is_eager() const override { return true; }

  void set_observer(NodeObserver observer) { observer_ = std::move(observer); }
  /// The tensor behind a value of this emitter; valid while the value lives.
  ConstTensorRef read(const Value& value) const;
  Tensor copy(const Value& value) const;

 protected:
  std::vector<Value> emit_node(const OpDef& op, std::span<const Value> operands, Attrs attrs,
                               std::vector<TensorType> results, NodeSite site) override;

 private:
  Value wrap(ConstTensorRef tensor, std::shared_ptr<const void> keep) const;
  KernelContext ctx_;
  const Bindings& bindings_;
  NodeObserver observer_;
};

}  // namespace deepinfer::graph
