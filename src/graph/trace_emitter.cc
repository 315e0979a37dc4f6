#include "graph/trace_emitter.h"

#include <algorithm>
#include <cctype>

#include "base/check.h"
#include "graph/verifier.h"

namespace deepinfer::graph {

struct TraceEmitter::TraceNode : Value::Node {
  ValueId id;               // trace numbering
  std::int32_t root = -1;   // input whose storage this value is a version of
  std::string consumed_by;  // path of the node that overwrote this version
};

namespace {

[[noreturn]] void break_at(std::string_view path, std::string_view stage, std::string_view what) {
  throw GraphBreak(fmt::format("graph break at {} ({}): {}", path.empty() ? "the top level" : path, stage, what));
}

ValueId input_id(std::size_t index) { return {-1 - static_cast<std::int32_t>(index), 0}; }

SourceSite site_of(const CallSite& location) {
  const std::string_view file = location.file;
  const std::size_t src = file.rfind("/src/");
  return {std::string(src == std::string_view::npos ? file : file.substr(src + 1)), location.line};
}

bool is_target_name(std::string_view text) {
  return !text.empty() && std::isalpha(static_cast<unsigned char>(text[0])) != 0 &&
         std::all_of(text.begin(), text.end(),
                     [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; });
}

}  // namespace

/// Marks the thread while the trace is open.
class TraceEmitter::Guard : public base::TraceGuard {
 public:
  explicit Guard(const TraceEmitter& trace) : trace_(trace) {
    if (base::in_trace()) current()->refuse("nested tracing");
    current() = this;
  }
  ~Guard() override { current() = nullptr; }
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;
  [[noreturn]] void refuse(std::string_view what) const override { break_at(trace_.path(), trace_.stage(), what); }

 private:
  const TraceEmitter& trace_;
};

TraceEmitter::TraceEmitter(std::string target, std::string name)
    : target_(std::move(target)), name_(std::move(name)), guard_(std::make_unique<Guard>(*this)) {
  DI_CHECK(is_target_name(target_), "target {}", target_);
}

TraceEmitter::~TraceEmitter() = default;

TraceEmitter::TraceNode& TraceEmitter::traced(const Value& value) { return static_cast<TraceNode&>(*value.node()); }

void TraceEmitter::require_open() const {
  if (guard_ == nullptr) break_at(path(), stage(), fmt::format("emission into {} after finish()", name_));
}

void TraceEmitter::check_dtype(const TensorType& type, std::string_view what) const {
  if (target_ == "host" || !is_host_only(type.dtype)) return;
  break_at(path(), stage(),
           fmt::format("{} is {}, which target {} does not have", what, deepinfer::to_string(type), target_));
}

Value TraceEmitter::input(GraphInput wanted) {
  require_open();
  check_dtype(wanted.type, wanted.name);
  if (const auto known = by_name_.find(wanted.name); known != by_name_.end()) {
    const GraphInput& input = inputs_[known->second];
    DI_CHECK(
        input == wanted && input.weight.data == wanted.weight.data && input.weight.segments == wanted.weight.segments,
        "input {} requested as {} {} and as {} {}, or with another range or tensor", wanted.name, role_name(input.role),
        deepinfer::to_string(input.type), role_name(wanted.role), deepinfer::to_string(wanted.type));
    return newest_[known->second];
  }
  const std::size_t index = inputs_.size();
  auto node = std::make_shared<TraceNode>();
  node->type = wanted.type;
  node->owner = this;
  node->id = input_id(index);
  if (wanted.role == InputRole::kState) node->root = static_cast<std::int32_t>(index);
  by_name_.emplace(wanted.name, index);
  inputs_.push_back(std::move(wanted));
  newest_.emplace_back(std::move(node));
  return newest_.back();
}

Value TraceEmitter::weight(const WeightRef& ref) {
  return input({ref.name, ref.tensor.type, InputRole::kWeight, {}, ref.tensor});
}

Value TraceEmitter::host(std::string_view name, const TensorType& type, std::optional<InputRange> range) {
  return input({std::string(name), type, InputRole::kHost, range, {}});
}

Value TraceEmitter::state(std::string_view name, const TensorType& type) {
  return input({std::string(name), type, InputRole::kState, {}, {}});
}

Value TraceEmitter::constant(const Tensor& tensor) {
  break_at(path(), stage(), fmt::format("a tensor {} given from outside", deepinfer::to_string(tensor.type())));
}

ConstTensorRef TraceEmitter::read(const Value& value) const {
  if (!value || value.node()->owner != this) break_at(path(), stage(), "host read of a value of another emitter");
  const ValueId id = traced(value).id;
  if (id.def < 0) {
    const std::string& name = inputs_[static_cast<std::size_t>(-1 - id.def)].name;
    break_at(path(), stage(), fmt::format("host read of input {}", name));
  }
  const Node& node = nodes_[static_cast<std::size_t>(id.def)];
  break_at(node.path, node.stage, fmt::format("host read of {}#{}", node.op->name, id.result));
}

void TraceEmitter::consume(const OpDef& op, std::span<const Value> operands, const NodeSite& site) {
  for (const Value& operand : operands) {
    const TraceNode& node = traced(operand);
    if (node.consumed_by.empty()) continue;
    const std::string root = node.root < 0 ? "a value" : inputs_[static_cast<std::size_t>(node.root)].name;
    break_at(site.path, site.stage,
             fmt::format("G007 {} uses a version of {} that {} has overwritten", op.name, root, node.consumed_by));
  }
  for (const InPlace& pair : op.in_place) {
    TraceNode& node = traced(operands[static_cast<std::size_t>(pair.operand)]);
    const auto uses = std::count_if(operands.begin(), operands.end(),
                                    [&](const Value& operand) { return &traced(operand) == &node; });
    if (uses > 1) break_at(site.path, site.stage, fmt::format("G007 {} reads the version it overwrites", op.name));
    if (node.id.def < 0 && node.root < 0) {
      const GraphInput& input = inputs_[static_cast<std::size_t>(-1 - node.id.def)];
      break_at(site.path, site.stage, fmt::format("{} writes {} input {}", op.name, role_name(input.role), input.name));
    }
    node.consumed_by = site.path.empty() ? std::string(op.name) : site.path;
  }
}

std::vector<Value> TraceEmitter::emit_node(const OpDef& op, std::span<const Value> operands, Attrs attrs,
                                           std::vector<TensorType> results, NodeSite site) {
  require_open();
  if (op.level == OpLevel::kHost) break_at(site.path, site.stage, fmt::format("G005 {}: host-only op", op.name));
  for (const TensorType& type : results) check_dtype(type, op.name);
  consume(op, operands, site);
  const auto index = static_cast<std::int32_t>(nodes_.size());
  std::vector<Value> values;
  for (std::size_t r = 0; r < results.size(); ++r) {
    auto node = std::make_shared<TraceNode>();
    node->type = results[r];
    node->owner = this;
    node->id = {index, static_cast<std::int32_t>(r)};
    const int source = in_place_operand(op, static_cast<int>(r));
    if (source >= 0) node->root = traced(operands[static_cast<std::size_t>(source)]).root;
    values.emplace_back(node);
    if (node->root >= 0) newest_[static_cast<std::size_t>(node->root)] = values.back();
  }
  Node node{.op = &op,
            .results = std::move(results),
            .attrs = std::move(attrs),
            .path = std::move(site.path),
            .stage = std::move(site.stage),
            .site = site_of(site.site)};
  node.operands.reserve(operands.size());
  for (const Value& operand : operands) node.operands.push_back(traced(operand).id);
  nodes_.push_back(std::move(node));
  return values;
}

std::vector<GraphOutput> TraceEmitter::collect_outputs(const std::map<std::string, Value, std::less<>>& outputs) const {
  std::vector<GraphOutput> out;
  for (const auto& [name, value] : outputs) {
    if (!value || value.node()->owner != this)
      break_at(path(), stage(), fmt::format("output {} is not of this trace", name));
    out.push_back({traced(value).id, name});
  }
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ValueId version = traced(newest_[i]).id;
    const bool written = inputs_[i].role == InputRole::kState && version != input_id(i);
    const bool listed =
        std::any_of(out.begin(), out.end(), [&](const GraphOutput& output) { return output.value == version; });
    if (written && !listed) out.push_back({version, inputs_[i].name});
  }
  return out;
}

std::vector<std::int32_t> TraceEmitter::number_live_nodes(const std::vector<GraphOutput>& outputs) const {
  std::vector<std::int32_t> number(nodes_.size(), -1);
  const auto mark = [&](ValueId id) {
    if (id.def >= 0) number[static_cast<std::size_t>(id.def)] = 0;
  };
  for (const GraphOutput& output : outputs) mark(output.value);
  for (std::size_t i = nodes_.size(); i-- > 0;) {
    if (number[i] < 0) continue;
    for (const ValueId operand : nodes_[i].operands) mark(operand);
  }
  auto next = static_cast<std::int32_t>(inputs_.size());
  for (std::int32_t& n : number) {
    if (n == 0) n = next++;
  }
  return number;
}

Graph TraceEmitter::finish(const std::map<std::string, Value, std::less<>>& outputs) {
  require_open();
  Graph graph{.name = name_, .target = target_};
  graph.outputs = collect_outputs(outputs);
  const std::vector<std::int32_t> number = number_live_nodes(graph.outputs);
  const auto renumber = [&](ValueId& id) {
    id.def = id.def < 0 ? -1 - id.def : number[static_cast<std::size_t>(id.def)];
  };
  for (std::size_t i = 0; i < inputs_.size(); ++i) {
    const ValueId version = traced(newest_[i]).id;
    if (inputs_[i].role != InputRole::kState || version == input_id(i)) continue;
    for (std::size_t k = 0; k < graph.outputs.size(); ++k) {
      if (graph.outputs[k].value != version) continue;
      graph.donations.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(k)});
      break;
    }
  }
  for (GraphOutput& output : graph.outputs) renumber(output.value);
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    if (number[i] < 0) continue;
    for (ValueId& operand : nodes_[i].operands) renumber(operand);
    graph.nodes.push_back(std::move(nodes_[i]));
  }
  graph.inputs = std::move(inputs_);
  guard_.reset();
  const Status verified = verify(graph);
  DI_CHECK(verified.has_value(), "trace of {}: {}", name_, verified.error().to_string());
  return graph;
}

}  // namespace deepinfer::graph
