#include "device/host/host_executable.h"

#include <chrono>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "graph/verifier.h"

namespace deepinfer::device {

using graph::GraphInput;
using graph::InputRole;
using graph::Node;

namespace {

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

// Kernels get mutable references to roots and stage inputs, which callers lend as mutable memory.
std::byte* writable(const void* data) { return static_cast<std::byte*>(const_cast<void*>(data)); }

Status check_bound_type(const GraphInput& input, const TensorType& found) {
  if (found == input.type) return {};
  return errorf(ErrorCode::kInvalidArgument, "{} input {} is bound to {}, the graph has {}", role_name(input.role),
                input.name, to_string(found), to_string(input.type));
}

/// FNV-1a over 8-byte words: notices any change, costs one pass.
std::uint64_t digest(const ConstTensorRef& ref, std::uint64_t hash) {
  const auto* bytes = static_cast<const unsigned char*>(ref.data);
  const std::int64_t size = ref.type.bytes();
  for (std::int64_t i = 0; i < size; i += 8) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, static_cast<std::size_t>(std::min<std::int64_t>(8, size - i)));
    hash = (hash ^ word) * 0x100000001B3U;
  }
  return hash;
}

}  // namespace

HostExecutable::HostExecutable(graph::Graph graph, const graph::KernelContext& ctx, RunChecks checks)
    : graph_(std::move(graph)), ctx_(ctx), checks_(checks) {}

Result<std::unique_ptr<HostExecutable>> HostExecutable::compile(graph::Graph graph, const graph::KernelContext& ctx,
                                                                RunChecks checks) {
  DI_TRY(graph::verify(graph));
  for (const Node& node : graph.nodes) {
    if (node.constant || node.op->kernel != nullptr || node.op->view_offset != nullptr) continue;
    return errorf(ErrorCode::kUnsupported, "{} ({}): the host has no kernel", node.op->name, node.path);
  }
  std::unique_ptr<HostExecutable> out(new HostExecutable(std::move(graph), ctx, checks));
  DI_TRY(out->allocate());
  return out;
}

Status HostExecutable::allocate() {
  plan_ = graph::plan_buffers(graph_);
  arena_ = Buffer(static_cast<std::size_t>(plan_.arena_bytes));
  own_inputs_.resize(graph_.inputs.size());
  input_refs_.resize(graph_.inputs.size());
  constants_.resize(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (!node.constant) continue;
    DI_ASSIGN(constants_[i], graph::materialise(*node.constant, node.results[0]));
  }
  return {};
}

std::int64_t HostExecutable::workspace_bytes() const {
  std::int64_t bytes = plan_.arena_bytes;
  for (const auto* tensors : {&own_inputs_, &constants_}) {
    for (const Tensor& tensor : *tensors) bytes += tensor.data() == nullptr ? 0 : tensor.type().bytes();
  }
  return bytes;
}

Status HostExecutable::bind(const graph::Bindings& bindings) {
  bound_ = false;
  steps_.clear();
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) DI_TRY(bind_input(i, bindings));
  DI_TRY(build_steps());
  bound_ = true;
  return {};
}

Status HostExecutable::bind_input(std::size_t input_idx, const graph::Bindings& bindings) {
  const GraphInput& input = graph_.inputs[input_idx];
  ConstTensorRef& ref = input_refs_[input_idx];
  if (input.role == InputRole::kWeight) {
    if (input.weight.data == nullptr && input.weight.segments == nullptr) {
      return errorf(ErrorCode::kNotFound, "weight {} has no data: the graph was traced with shapes only", input.name);
    }
    ref = input.weight;
  } else if (input.role == InputRole::kState) {
    const auto found = bindings.state.find(input.name);
    if (found == bindings.state.end()) return errorf(ErrorCode::kNotFound, "state {} is not bound", input.name);
    ref = found->second;
  } else if (const auto found = bindings.host.find(input.name); found != bindings.host.end()) {
    ref = found->second;
  } else {
    // Zeros are valid addresses and ids, so a run before the first upload is defined.
    if (own_inputs_[input_idx].data() == nullptr) own_inputs_[input_idx] = Tensor::zeros(input.type);
    ref = own_inputs_[input_idx].ref();
  }
  return check_bound_type(input, ref.type);
}

std::byte* HostExecutable::address(graph::ValueId value) const {
  if (graph_.is_input(value)) return writable(input_refs_[static_cast<std::size_t>(value.def)].data);
  const graph::PlanEntry& entry = plan_.entry(graph_, value);
  std::byte* base = arena_.data();
  if (entry.storage == graph::Storage::kInput) base = writable(input_refs_[static_cast<std::size_t>(entry.index)].data);
  if (entry.storage == graph::Storage::kConstant) {
    base = static_cast<std::byte*>(constants_[static_cast<std::size_t>(entry.index)].data());
  }
  return base == nullptr ? nullptr : base + entry.offset;
}

ConstTensorRef HostExecutable::operand_ref(graph::ValueId value) const {
  if (graph_.is_input(value)) return input_refs_[static_cast<std::size_t>(value.def)];
  return {graph_.type_of(value), address(value), nullptr};
}

Status HostExecutable::build_steps() {
  std::size_t num_operands = 0;
  for (const Node& node : graph_.nodes) num_operands += node.operands.size();
  in_refs_.clear();
  out_refs_.clear();
  in_refs_.reserve(num_operands);  // the calls hold spans into both: no reallocation below
  out_refs_.reserve(plan_.entries.size());
  steps_.reserve(graph_.nodes.size());
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (node.constant) continue;
    const std::size_t first_in = in_refs_.size();
    const std::size_t first_out = out_refs_.size();
    for (const graph::ValueId operand : node.operands) in_refs_.push_back(operand_ref(operand));
    for (std::size_t r = 0; r < node.results.size(); ++r) {
      const graph::ValueId value{graph_.num_inputs() + static_cast<std::int32_t>(i), static_cast<std::int32_t>(r)};
      out_refs_.push_back({node.results[r], address(value)});
      if (out_refs_.back().data != nullptr) continue;
      return errorf(ErrorCode::kUnsupported, "{} ({}): a view or update of a segmented weight", node.op->name,
                    node.path);
    }
    steps_.push_back({node.op->kernel,
                      {{in_refs_.data() + first_in, node.operands.size()},
                       {out_refs_.data() + first_out, node.results.size()},
                       node.attrs,
                       ctx_},
                      i});
  }
  return {};
}

TensorRef HostExecutable::input(std::string_view name) {
  const std::int32_t index = graph_.find_input(name);
  if (index < 0 || own_inputs_[static_cast<std::size_t>(index)].data() == nullptr) return {};
  return own_inputs_[static_cast<std::size_t>(index)].ref();
}

ConstTensorRef HostExecutable::output(std::string_view name) const {
  const std::int32_t index = graph_.find_output(name);
  return index < 0 ? ConstTensorRef{} : output_at(static_cast<std::size_t>(index));
}

ConstTensorRef HostExecutable::output_at(std::size_t index) const {
  DI_CHECK(index < graph_.outputs.size(), "output {} of {}", index, graph_.outputs.size());
  return operand_ref(graph_.outputs[index].value);
}

Status HostExecutable::run() {
  DI_CHECK(bound_, "run of {} before bind", graph_.name);
  std::uint64_t before = 0;
  if (checks_ == RunChecks::kOn) {
    DI_TRY(check_ranges());
    std::memset(arena_.data(), 0xFB, arena_.size());
    before = read_only_digest();
  }
  if (observer_ || !profile_.empty()) {
    run_instrumented();
  } else {
    run_plain();
  }
  if (checks_ == RunChecks::kOn) {
    DI_CHECK(read_only_digest() == before, "a kernel of {} changed an input that the graph only reads", graph_.name);
  }
  return {};
}

void HostExecutable::run_plain() {
  for (const Step& step : steps_) {
    if (step.kernel == nullptr) continue;
    step.kernel(step.call);
    ctx_.scratch->reset();
  }
}

void HostExecutable::run_instrumented() {
  for (const Step& step : steps_) {
    const std::int64_t begin = now_ns();
    if (step.kernel != nullptr) step.kernel(step.call);
    ctx_.scratch->reset();
    if (!profile_.empty()) {
      NodeProfile& profile = profile_[step.node_idx];
      profile.wall_ns += now_ns() - begin;
      ++profile.runs;
    }
    const Node& node = graph_.nodes[step.node_idx];
    if (observer_) observer_(node.path, *node.op, step.call.out);
  }
}

Status HostExecutable::check_ranges() const {
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    const GraphInput& input = graph_.inputs[i];
    if (!input.range || input.type.dtype != DType::kS32) continue;
    const auto* values = input_refs_[i].as<std::int32_t>();
    for (std::int64_t k = 0; k < input.type.num_elements(); ++k) {
      if (values[k] >= input.range->lo && values[k] <= input.range->hi) continue;
      return errorf(ErrorCode::kInvalidArgument, "host input {}[{}] = {} is outside [{}, {}]", input.name, k, values[k],
                    input.range->lo, input.range->hi);
    }
  }
  return {};
}

std::uint64_t HostExecutable::read_only_digest() const {
  std::vector<bool> donated(graph_.inputs.size());
  for (const graph::Donation& pair : graph_.donations) donated[static_cast<std::size_t>(pair.input)] = true;
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (std::size_t i = 0; i < graph_.inputs.size(); ++i) {
    // Weights are mapped read-only: a write faults.
    if (graph_.inputs[i].role != InputRole::kWeight && !donated[i]) hash = digest(input_refs_[i], hash);
  }
  return hash;
}

std::int64_t HostExecutable::traffic(graph::ValueId value) const {
  std::int32_t input = graph_.is_input(value) ? value.def : -1;
  if (input < 0 && plan_.entry(graph_, value).storage == graph::Storage::kInput)
    input = plan_.entry(graph_, value).index;
  const bool root = input >= 0 && graph_.inputs[static_cast<std::size_t>(input)].role == InputRole::kState;
  return root ? 0 : graph_.type_of(value).bytes();
}

void HostExecutable::start_profile() {
  profile_.assign(graph_.nodes.size(), {});
  for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
    const Node& node = graph_.nodes[i];
    const std::int32_t def = graph_.num_inputs() + static_cast<std::int32_t>(i);
    for (const graph::ValueId operand : node.operands) profile_[i].bytes += traffic(operand);
    for (std::size_t r = 0; r < node.results.size(); ++r)
      profile_[i].bytes += traffic({def, static_cast<std::int32_t>(r)});
  }
}

std::string HostExecutable::profile_csv() const {
  std::string out = "node,path,stage,op,runs,wall_ns,bytes\n";
  for (std::size_t i = 0; i < profile_.size(); ++i) {
    const Node& node = graph_.nodes[i];
    if (node.constant) continue;
    out += fmt::format("{},{},{},{},{},{},{}\n", i, node.path, node.stage, node.op->name, profile_[i].runs,
                       profile_[i].wall_ns, profile_[i].bytes);
  }
  return out;
}

Result<std::unique_ptr<Executable>> HostBackend::compile(graph::Graph graph) {
  return HostExecutable::compile(std::move(graph), ctx_);
}

}  // namespace deepinfer::device
