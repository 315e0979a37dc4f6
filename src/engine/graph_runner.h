// Static decode and draft graphs, one per batch size, captured at start and replayed from fixed buffers.
//
// Sizes are 1, 2, 4, then multiples of the interval, then the maximum; a step runs in the smallest size that holds it,
// with padding rows behind the real ones. Decode graphs are keyed by query tokens, draft graphs by requests.
// Source: graph.md 5, original-engine.md 2.9.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "deepinfer/status.h"
#include "device/host/host_executable.h"
#include "engine/step_inputs.h"
#include "graph/eager_emitter.h"

namespace deepinfer::engine {

class ModelRunner;

/// The captured sizes for a maximum and an interval (graph.md 5.1): (20, 8) -> 1 2 4 8 16 20.
std::vector<std::int64_t> graph_batch_sizes(std::int64_t max_batch, std::int64_t interval);

class GraphRunner {
 public:
  /// Captures all sizes, largest first. The runner must outlive this object.
  explicit GraphRunner(ModelRunner& runner);
  ~GraphRunner();

  /// Smallest captured size >= total_q. Errors: kResourceExhausted naming the value and the largest size.
  Result<std::int64_t> select(std::int64_t total_q) const;
  std::int64_t select_draft(std::int64_t num_requests) const;
  /// Logits f32 [bucket, V]; valid until the next replay of this size.
  ConstTensorRef replay_decode(std::int64_t bucket, const HostTensors& inputs);
  /// Hidden rows and raw logits of a draft pass.
  std::pair<ConstTensorRef, ConstTensorRef> replay_draft(std::int64_t bucket, const HostTensors& inputs);
  std::int64_t arena_bytes() const;
  void set_observer(const graph::NodeObserver& observer);

 private:
  struct Captured;
  void capture_decode(std::int64_t size);
  void capture_draft(std::int64_t size);

  ModelRunner& runner_;
  std::map<std::int64_t, std::unique_ptr<Captured>> decode_;
  std::map<std::int64_t, std::unique_ptr<Captured>> draft_;
};

/// The decode step of a batch size as a graph (also `deepinfer graph dump|plan`).
graph::Graph trace_decode(const ModelRunner& runner, std::int64_t size);
graph::Graph trace_draft(const ModelRunner& runner, std::int64_t size);

}  // namespace deepinfer::engine
