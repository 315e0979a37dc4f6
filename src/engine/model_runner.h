// Runs prefill, decode and draft steps of one loaded model on the host, eagerly or through captured graphs.
//
// The runner owns the two cache roots and hands out their blocks and slots. It computes rows; it does not decide
// anything about sequences: callers advance Sequence::length. Same bits in every mode (numerics.md 11).
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/sequence.h"
#include "engine/step_inputs.h"
#include "graph/eager_emitter.h"
#include "kv/block_manager.h"
#include "model/deepseek_v41/context.h"
#include "model/deepseek_v41/model.h"

namespace deepinfer::engine {

enum class GraphMode : std::uint8_t {
  kEager,  ///< op by op
  kGraph,  ///< decode and draft steps through one static graph per batch size
};

struct RunnerOptions {
  int num_threads = 0;  ///< 0 = one per usable core
  std::string cpu_isa;  ///< "" = the fastest available
  model::NumericModes modes;
  GraphMode graph_mode = GraphMode::kGraph;
  std::int64_t max_model_len = 4096;  ///< tokens of one sequence
  std::int64_t max_num_seqs = 1;
  std::int64_t num_drafts = 5;  ///< drafts verified with an anchor; 0 = none
  std::int64_t batch_size_interval = 8;
};

class GraphRunner;

class ModelRunner {
 public:
  /// Errors: kInvalidArgument (ISA name, lengths), kResourceExhausted (cache roots).
  static Result<std::unique_ptr<ModelRunner>> create(std::shared_ptr<const model::deepseek_v41::Model> model,
                                                     const RunnerOptions& options);
  ~ModelRunner();

  const model::deepseek_v41::Model& model() const { return *model_; }
  const RunnerOptions& options() const { return options_; }
  const StepContext& step_context() const { return context_; }
  const kv::CacheLayout& layout() const { return *layout_; }
  std::int64_t workspace_bytes() const;  ///< roots and arenas, without weights

  /// A sequence with a slot and no blocks. Errors: kResourceExhausted.
  Result<Sequence> open_sequence();
  void close_sequence(Sequence& sequence);
  /// Appends a token (and its Engram class; image-span positions are dead).
  enum class TokenKind : std::uint8_t { kText, kImage };
  void append_token(Sequence& sequence, std::int32_t token, TokenKind kind = TokenKind::kText) const;
  /// Makes blocks for positions below `length`. Errors: kResourceExhausted, kInvalidArgument beyond max_model_len.
  Status reserve(Sequence& sequence, std::int64_t length);
  /// First position of the exact or configured tail of a prompt (model.md 10); 0 = all rows run.
  std::int64_t tail_start(std::int64_t prompt_length) const;

  /// Logits f32 [rows, V] of the requested rows of all items in order; an empty tensor when none is wanted.
  /// The blocks of every item must be reserved.
  Tensor prefill(std::span<const PrefillItem> items);
  /// Logits f32 [sum of counts, V], items in order. At most max_rows_per_step rows of one sequence.
  /// Errors: kResourceExhausted when the rows exceed the largest captured size (graph mode).
  Result<Tensor> decode(std::span<const DecodeItem> items);

  struct DraftRows {
    Tensor hidden;      ///< bf16 [R*B, D]
    Tensor raw_logits;  ///< f32 [R*B, V]
  };
  DraftRows draft(std::span<const Sequence* const> sequences, std::span<const std::int32_t> anchors);
  struct MarkovRows {
    Tensor logits;      ///< f32 [R, V]
    Tensor confidence;  ///< f32 [R, 1]
  };
  /// Corrects row k of every block (speculative.md 1.3): previous[r] is the token before it.
  MarkovRows markov(const DraftRows& rows, std::int64_t k, std::span<const std::int32_t> previous);

  /// Sees every node of eager steps and of graph replays.
  void set_observer(graph::NodeObserver observer);
  /// Replaces the emitter of every later step, which then runs eagerly (tools that change what an op computes).
  using EmitterFactory =
      std::function<std::unique_ptr<graph::EagerEmitter>(const graph::KernelContext&, const graph::Bindings&)>;
  void set_emitter_factory(EmitterFactory factory) { emitter_factory_ = std::move(factory); }
  /// The emitter of a step, with the observer set. `bindings` must outlive it.
  std::unique_ptr<graph::EagerEmitter> make_emitter(const graph::Bindings& bindings) const;
  graph::KernelContext& kernel_context() { return ctx_; }
  /// The roots; tests hash and poison them.
  TensorRef kv_blocks() const { return blocks_root_.ref(); }
  TensorRef kv_states() const { return states_root_.ref(); }
  /// An emitter over the roots and `inputs`, for replay of recorded blocks.
  graph::Bindings bindings(const HostTensors& inputs) const;
  model::deepseek_v41::ModelContext model_context() const;

 private:
  ModelRunner(std::shared_ptr<const model::deepseek_v41::Model> model, const RunnerOptions& options);
  Status prepare();
  Tensor run_decode_eager(const PreparedStep& step);
  bool uses_graphs() const { return graphs_ != nullptr && !emitter_factory_; }

  std::shared_ptr<const model::deepseek_v41::Model> model_;
  RunnerOptions options_;
  std::unique_ptr<kv::CacheLayout> layout_;
  std::unique_ptr<kv::BlockManager> manager_;
  Tensor blocks_root_;
  Tensor states_root_;
  std::unique_ptr<base::ThreadPool> pool_;
  graph::Scratch scratch_;
  graph::KernelContext ctx_;
  StepContext context_;
  graph::NodeObserver observer_;
  EmitterFactory emitter_factory_;
  std::unique_ptr<GraphRunner> graphs_;
};

}  // namespace deepinfer::engine
