#include "graph/emitter.h"

#include "base/check.h"

namespace deepinfer::graph {

const TensorType& Value::type() const {
  DI_CHECK(node_ != nullptr, "use of an empty value");
  return node_->type;
}

std::string_view role_name(InputRole role) {
  static constexpr std::string_view kNames[] = {"weight", "state", "host", "stage"};
  return kNames[static_cast<std::size_t>(role)];
}

Emitter& Emitter::at(std::string_view leaf) {
  leaf_ = leaf;
  return *this;
}

std::vector<Value> Emitter::emit(const OpDef& op, std::span<const Value> operands, const Attrs& attrs,
                                 CallSite site) {
  NodeSite where{path_, stage_, site};
  if (!leaf_.empty()) where.path += (where.path.empty() ? "" : ".") + std::exchange(leaf_, {});
  std::vector<TensorType> types;
  types.reserve(operands.size());
  for (const Value& operand : operands) {
    if (!operand || operand.node()->owner != this) {
      throw GraphBreak(fmt::format("graph break at {} ({}): operand {} of {} is {}", where.path, where.stage,
                                   types.size(), op.name, operand ? "of another emitter" : "a moved value"));
    }
    types.push_back(operand.type());
  }
  auto completed = complete_attrs(op.attrs, attrs);
  DI_CHECK(completed.has_value(), "{} {}: {}", where.path, op.name, completed.error().to_string());
  auto results = op.infer(types, *completed);
  DI_CHECK(results.has_value(), "{} {}: {}", where.path, op.name, results.error().to_string());
  return emit_node(op, operands, std::move(*completed), std::move(*results), std::move(where));
}

Value Emitter::emit_one(const OpDef& op, std::span<const Value> operands, const Attrs& attrs,
                        CallSite site) {
  auto results = emit(op, operands, attrs, site);
  DI_CHECK(results.size() == 1, "{} has {} results", op.name, results.size());
  return std::move(results.front());
}

PathScope::PathScope(Emitter& emitter, std::string_view element)
    : emitter_(emitter), old_size_(emitter.path_.size()) {
  if (!emitter.path_.empty()) emitter.path_ += '.';
  emitter.path_ += element;
}
PathScope::~PathScope() { emitter_.path_.resize(old_size_); }

StageScope::StageScope(Emitter& emitter, std::string_view stage) : emitter_(emitter), old_(emitter.stage_) {
  emitter.stage_ = stage;
}
StageScope::~StageScope() { emitter_.stage_ = std::move(old_); }

}  // namespace deepinfer::graph
