// Host-side preparation of a step: positions, addresses, visible counts, rotary rows and Engram rows as named tensors.
//
// Everything that is data-dependent or 64-bit is decided here, so the graph has none of it (graph.md 7). Names and
// shapes are those that model/deepseek_v41/forward.h asks for.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include "engine/sequence.h"
#include "graph/eager_emitter.h"
#include "kv/cache_layout.h"
#include "model/deepseek_v41/model.h"
#include "model/modes.h"
#include "model/step.h"

namespace deepinfer::engine {

/// Owned tensors by name.
class HostTensors {
 public:
  /// A new s32 tensor to fill; a scalar extent of 0 makes nothing and returns an empty span.
  std::span<std::int32_t> s32(const std::string& name, Shape shape);
  Tensor& add(const std::string& name, Tensor tensor);
  const std::map<std::string, Tensor, std::less<>>& all() const { return tensors_; }
  /// References for an EagerEmitter; valid while this object lives.
  void bind(graph::Bindings& bindings) const;

 private:
  std::map<std::string, Tensor, std::less<>> tensors_;
};

enum class LogitRows : std::uint8_t { kNone, kLast, kAll };

/// `count` tokens of a sequence from its `length` on.
struct PrefillItem {
  const Sequence* sequence = nullptr;
  std::int64_t count = 0;
  LogitRows logits = LogitRows::kLast;
  const Tensor* embeds = nullptr;  ///< bf16 [count, D]: given embeddings; all items of a step or none
};
struct DecodeItem {
  const Sequence* sequence = nullptr;
  std::int64_t count = 1;  ///< anchor and drafts, at positions length ...
};

/// Everything a step needs to be built, shared by all steps of a runner.
struct StepContext {
  const model::deepseek_v41::Model* model = nullptr;
  const kv::CacheLayout* layout = nullptr;
  model::NumericModes modes;
  std::int64_t table_width = 1;  ///< blocks of a block table row in decode graphs
};

struct PreparedStep {
  model::StepShape shape;
  HostTensors inputs;
};

PreparedStep prepare_prefill(const StepContext& context, std::span<const PrefillItem> items);
/// Rows of all items, then padding rows up to `bucket` (0 = none).
PreparedStep prepare_decode(const StepContext& context, std::span<const DecodeItem> items, std::int64_t bucket);
/// Inputs of a draft pass: one block [anchor, noise ...] per sequence, the anchor at position `length`.
HostTensors prepare_draft(const StepContext& context, std::span<const Sequence* const> sequences,
                          std::span<const std::int32_t> anchors, std::int64_t bucket);

}  // namespace deepinfer::engine
