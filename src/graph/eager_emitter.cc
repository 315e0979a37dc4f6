#include "graph/eager_emitter.h"

#include <cstring>

#include "base/check.h"

namespace deepinfer::graph {
namespace {

struct EagerNode : Value::Node {
  ConstTensorRef tensor;
  std::shared_ptr<const void> keep;  // storage owner; null when the bindings or the checkpoint own it
};

const EagerNode& eager(const Value& value) { return static_cast<const EagerNode&>(*value.node()); }

// Kernels receive mutable references to storage that this emitter allocated or that a state binding lent.
void* writable(const ConstTensorRef& tensor) { return const_cast<void*>(tensor.data); }

}  // namespace

Value EagerEmitter::wrap(ConstTensorRef tensor, std::shared_ptr<const void> keep) const {
  auto node = std::make_shared<EagerNode>();
  node->type = tensor.type;
  node->owner = this;
  node->tensor = tensor;
  node->keep = std::move(keep);
  return Value(std::move(node));
}

Value EagerEmitter::weight(const WeightRef& ref) {
  DI_CHECK(ref.tensor.data != nullptr || ref.tensor.segments != nullptr, "weight {} is not bound", ref.name);
  return wrap(ref.tensor, nullptr);
}

Value EagerEmitter::host(std::string_view name, const TensorType& type, std::optional<InputRange> range) {
  const auto it = bindings_.host.find(name);
  DI_CHECK(it != bindings_.host.end(), "host input {} is not bound", name);
  DI_CHECK(it->second.type == type, "host input {} is {}, the model wants {}", name, deepinfer::to_string(it->second.type),
           deepinfer::to_string(type));
  if (range && type.dtype == DType::kS32) {
    const auto* values = it->second.as<std::int32_t>();
    for (std::int64_t i = 0; i < type.num_elements(); ++i) {
      DI_CHECK(values[i] >= range->lo && values[i] <= range->hi, "host input {}[{}] = {} outside [{}, {}]", name, i,
               values[i], range->lo, range->hi);
    }
  }
  return wrap(it->second, nullptr);
}

Value EagerEmitter::state(std::string_view name, const TensorType& type) {
  const auto it = bindings_.state.find(name);
  DI_CHECK(it != bindings_.state.end(), "state {} is not bound", name);
  DI_CHECK(it->second.type == type, "state {} is {}, the model wants {}", name, deepinfer::to_string(it->second.type),
           deepinfer::to_string(type));
  return wrap(it->second, nullptr);
}

Value EagerEmitter::constant(const Tensor& tensor) {
  auto keep = std::make_shared<Tensor>(tensor.clone());
  const ConstTensorRef ref = keep->ref();
  return wrap(ref, std::move(keep));
}

ConstTensorRef EagerEmitter::read(const Value& value) const {
  DI_CHECK(value && value.node()->owner == this, "value of another emitter");
  return eager(value).tensor;
}

Tensor EagerEmitter::copy(const Value& value) const {
  const ConstTensorRef ref = read(value);
  Tensor out(ref.type);
  std::memcpy(out.data(), ref.data, static_cast<std::size_t>(ref.type.bytes()));
  return out;
}

std::vector<Value> EagerEmitter::emit_node(const OpDef& op, std::span<const Value> operands, Attrs attrs,
                                           std::vector<TensorType> results, NodeSite site) {
  DI_CHECK(op.level != OpLevel::kHost, "{} is host-only", op.name);
  std::vector<ConstTensorRef> in;
  for (const Value& operand : operands) in.push_back(eager(operand).tensor);
  std::vector<TensorRef> out;
  std::vector<Value> values;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Value* shared = nullptr;
    std::int64_t offset = 0;
    for (const InPlace& pair : op.in_place) {
      if (pair.result == static_cast<int>(i)) shared = &operands[static_cast<std::size_t>(pair.operand)];
    }
    if (op.view_offset != nullptr) {
      std::vector<TensorType> types;
      for (const Value& operand : operands) types.push_back(operand.type());
      shared = &operands[0];
      offset = op.view_offset(types, attrs);
    }
    if (shared != nullptr) {
      auto* data = static_cast<std::byte*>(writable(eager(*shared).tensor)) + offset;
      out.push_back({results[i], data});
      values.push_back(wrap(out.back(), eager(*shared).keep ? eager(*shared).keep : nullptr));
    } else {
      auto keep = std::make_shared<Tensor>(results[i]);
      out.push_back(keep->ref());
      values.push_back(wrap(out.back(), std::move(keep)));
    }
  }
  if (op.kernel != nullptr) op.kernel(OpCall{in, out, attrs, ctx_});
  ctx_.scratch->reset();
  if (observer_) observer_(site.path, op, out);
  return values;
}

}  // namespace deepinfer::graph
