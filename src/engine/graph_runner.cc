#include "engine/graph_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "base/error.h"
#include "engine/model_runner.h"
#include "graph/trace_emitter.h"
#include "model/deepseek_v41/forward.h"

namespace deepinfer::engine {

namespace v41 = model::deepseek_v41;

std::vector<std::int64_t> graph_batch_sizes(std::int64_t max_batch, std::int64_t interval) {
  interval = std::min(interval, max_batch);
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = 1; size < interval; size *= 2) sizes.push_back(size);
  for (std::int64_t size = interval; size < max_batch; size += interval) sizes.push_back(size);
  sizes.push_back(max_batch);
  return sizes;
}

graph::Graph trace_decode(const ModelRunner& runner, std::int64_t size) {
  // The shape of a step of padding rows is the shape of every step of this size.
  const model::StepShape shape = prepare_decode(runner.step_context(), {}, size).shape;
  graph::TraceEmitter e("host", fmt::format("decode.b{}", size));
  const v41::ModelContext context = runner.model_context();
  v41::Forward forward(e, context, shape);
  forward.prologue();
  for (std::int64_t i = 0; i < context.config->num_hidden_layers; ++i) forward.layer(i);
  forward.condition_drafts(forward.main_hidden());
  const graph::Value logits = forward.epilogue();
  return e.finish({{"logits", logits}});
}

graph::Graph trace_draft(const ModelRunner& runner, std::int64_t size) {
  graph::TraceEmitter e("host", fmt::format("draft.r{}", size));
  const v41::ModelContext context = runner.model_context();
  v41::DraftForward forward(e, context, {.num_requests = size});
  forward.prologue();
  for (std::int64_t s = 0; s < context.config->num_nextn_predict_layers; ++s) forward.stage(s);
  const v41::DraftForward::Result result = forward.epilogue();
  return e.finish({{"hidden", result.hidden}, {"raw_logits", result.raw_logits}});
}

struct GraphRunner::Captured {
  std::unique_ptr<device::HostExecutable> executable;

  Captured(graph::Graph graph, ModelRunner& runner) {
    auto compiled = device::HostExecutable::compile(std::move(graph), runner.kernel_context());
    DI_CHECK(compiled.has_value(), "{}", compiled.error().to_string());
    executable = std::move(*compiled);
    const Status bound = executable->bind(runner.bindings({}));
    DI_CHECK(bound.has_value(), "{}", bound.error().to_string());
  }

  // Copies the step's inputs into the fixed buffers and runs.
  void replay(const HostTensors& inputs) {
    for (const auto& [name, tensor] : inputs.all()) {
      const TensorRef buffer = executable->input(name);
      if (buffer.data == nullptr) continue;  // an input that this graph does not read
      DI_CHECK(buffer.type == tensor.type(), "input {} is {}, the graph wants {}", name, to_string(tensor.type()),
               to_string(buffer.type));
      std::memcpy(buffer.data, tensor.data(), static_cast<std::size_t>(tensor.type().bytes()));
    }
    const Status done = executable->run();
    DI_CHECK(done.has_value(), "{}", done.error().to_string());
  }
};

GraphRunner::GraphRunner(ModelRunner& runner) : runner_(runner) {
  const RunnerOptions& options = runner.options();
  const auto sizes = graph_batch_sizes(options.max_num_seqs * (1 + options.num_drafts), options.batch_size_interval);
  for (auto it = sizes.rbegin(); it != sizes.rend(); ++it) capture_decode(*it);
  if (options.num_drafts == 0) return;
  const auto draft_sizes = graph_batch_sizes(options.max_num_seqs, options.batch_size_interval);
  for (auto it = draft_sizes.rbegin(); it != draft_sizes.rend(); ++it) capture_draft(*it);
}

GraphRunner::~GraphRunner() = default;

// Warm-up with padding rows only: scratch memory reaches its final size and no live row changes.
void GraphRunner::capture_decode(std::int64_t size) {
  auto captured = std::make_unique<Captured>(trace_decode(runner_, size), runner_);
  captured->replay(prepare_decode(runner_.step_context(), {}, size).inputs);
  decode_.emplace(size, std::move(captured));
}

void GraphRunner::capture_draft(std::int64_t size) {
  auto captured = std::make_unique<Captured>(trace_draft(runner_, size), runner_);
  captured->replay(prepare_draft(runner_.step_context(), {}, {}, size));
  draft_.emplace(size, std::move(captured));
}

Result<std::int64_t> GraphRunner::select(std::int64_t total_q) const {
  const auto it = decode_.lower_bound(total_q);
  if (it == decode_.end()) {
    return errorf(ErrorCode::kResourceExhausted, "a step of {} query tokens exceeds the largest captured size {}",
                  total_q, decode_.rbegin()->first);
  }
  return it->first;
}

std::int64_t GraphRunner::select_draft(std::int64_t num_requests) const {
  const auto it = draft_.lower_bound(num_requests);
  DI_CHECK(it != draft_.end(), "{} draft requests", num_requests);
  return it->first;
}

ConstTensorRef GraphRunner::replay_decode(std::int64_t bucket, const HostTensors& inputs) {
  Captured& captured = *decode_.at(bucket);
  captured.replay(inputs);
  return captured.executable->output("logits");
}

std::pair<ConstTensorRef, ConstTensorRef> GraphRunner::replay_draft(std::int64_t bucket, const HostTensors& inputs) {
  Captured& captured = *draft_.at(bucket);
  captured.replay(inputs);
  return {captured.executable->output("hidden"), captured.executable->output("raw_logits")};
}

std::int64_t GraphRunner::arena_bytes() const {
  std::int64_t bytes = 0;
  for (const auto* graphs : {&decode_, &draft_}) {
    for (const auto& [size, captured] : *graphs) bytes += captured->executable->workspace_bytes();
  }
  return bytes;
}

void GraphRunner::set_observer(const graph::NodeObserver& observer) {
  for (auto* graphs : {&decode_, &draft_}) {
    for (auto& [size, captured] : *graphs) captured->executable->set_observer(observer);
  }
}

}  // namespace deepinfer::engine
