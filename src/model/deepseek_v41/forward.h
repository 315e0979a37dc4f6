// The forward pass of DeepSeek-V4.1, written once against the emitter (model.md 2 to 8).
//
// A `Forward` lives for one step. Call prologue(), layer(0 .. n-1), epilogue(); or set `streams` and `pre` yourself
// between blocks, as the replay of recorded blocks does. Run under an EagerEmitter it computes, under a TraceEmitter it
// records; nothing here looks at data. Names given with e.at(...) are those of the golden captures.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "graph/emitter.h"
#include "model/deepseek_v41/context.h"
#include "model/step.h"
#include "ops/linear_blockquant/linear_blockquant.h"
#include "ops/rope/rope.h"
#include "ops/state_store/state_store.h"
#include "ops/topk_select/topk_select.h"

namespace deepinfer::model::deepseek_v41 {

using graph::Value;

/// A row-quantised activation: e4m3 codes and ue8m0 scales.
using QuantisedRows = ops::Quantised;

class Forward {
 public:
  Forward(graph::Emitter& e, const ModelContext& context, const StepShape& shape);
  Forward(const Forward&) = delete;
  Forward& operator=(const Forward&) = delete;

  /// Binds the roots; prologue() does it too.
  void open_roots();
  void prologue();
  void layer(std::int64_t index);
  /// The parts of layer(): the Engram lookup, the recorded tap, and the block itself.
  void engram(std::int64_t index);
  void record_tap(std::int64_t index);
  void block(std::int64_t index);
  /// Collapse, final norm and head of the rows that need logits: f32 [rows, V].
  Value epilogue();
  /// The taps of all conditioning layers side by side: bf16 [T, taps*D]; empty without draft stages or rows.
  Value main_hidden();
  /// Writes the draft rings from main_hidden (speculative.md 1.2); nothing when it is empty.
  void condition_drafts(const Value& main_hidden);
  /// main_x of the conditioning rows, after condition_drafts().
  const Value& main_x() const { return main_x_; }

  Value streams;  ///< bf16 [T, S, D]
  Value pre;      ///< f32 [T, S], consumed by the next site
  Value blocks;   ///< newest version of root kv_blocks
  Value states;   ///< newest version of root kv_states

 private:
  /// Where a set of rows finds its host inputs and its size.
  struct Rows {
    std::string prefix;
    const RowShape* shape;
  };
  /// Selection published by the last selection owner for the layers after it.
  struct Selection {
    Value ids;      ///< s32 [T, k]
    Value count;    ///< s32 [T]
    Value records;  ///< decode: u8 [T*k, row_bytes], gathered once per owner
  };
  struct WindowRows {
    Value buffer;  ///< u8 [N, row_bytes]
    Value index;   ///< s32 [T, W] into buffer (prefill)
    Value count;   ///< s32 [T]
  };

  // forward.cc
  Value host(std::string_view name, const TensorType& type, std::optional<graph::InputRange> range = {});
  Value host_s32(std::string_view name, Shape shape, std::int64_t lo, std::int64_t hi);
  Value linear(std::string_view name, const QuantisedRows& x, const Quantised& w);
  QuantisedRows quantise(const Value& x);
  std::int64_t num_tokens() const { return rows_.shape->num_tokens; }
  /// One hyper-connection site around a sublayer: mixes of the residual before it, expansion of its output.
  using Sublayer = std::function<Value()>;
  void site(std::string_view name, const HcSite& weights, const Sublayer& sublayer);
  Value collapsed_norm(const WeightRef& gamma);
  void cut_to_tail();

  // attention.cc
  Value attention(const Layer& layer, std::int64_t index, const Value& x);
  Value attention_cut(const Layer& layer, std::int64_t index, const Value& x_all);
  ops::RopeTables rope_tables(bool compressed);
  Value window_records(const Attention& attn, const QuantisedRows& x, bool compressed);
  WindowRows window_rows(std::int64_t index, const Value& records);
  void store_window(const kv::CacheView& view, const Value& records);
  Value attend(const Attention& attn, std::int64_t index, const Value& q, const WindowRows& window);
  Value project_out(const Attention& attn, const Value& o, bool compressed);
  /// Stores records into the newest version of the view's root.
  void store(const kv::CacheView& view, const ops::RecordAddress& at, const Value& records);

  // csa.cc
  void compress(const Layer& layer, std::int64_t index, const Value& x);
  Value pooled_latent(const Compressor& weights, std::int64_t index, const Value& x);
  void publish_selection(const Layer& layer, std::int64_t index, const Value& x, const QuantisedRows& qr);
  Value index_scores(const Layer& layer, std::int64_t index, const Value& x, const QuantisedRows& qr);
  const kv::CacheView& key_view(std::int64_t index) const;

  // moe.cc
  Value moe(const Moe& weights, std::int64_t index, std::int64_t top_k, const Value& x);

  graph::Emitter& e_;
  const ModelContext context_;
  const checkpoint::ModelConfig& config_;
  const StepShape shape_;
  Rows rows_;
  Selection selection_;
  std::optional<ops::Selection> candidates_;  ///< block ids and counts
  std::vector<Value> taps_;
  Value main_x_;

  friend class DraftForward;
};

/// One pass of the draft stages (speculative.md 1.3). Rows: request-major blocks [anchor, noise, ...].
class DraftForward {
 public:
  DraftForward(graph::Emitter& e, const ModelContext& context, const DraftShape& shape);

  void prologue();
  void stage(std::int64_t index);
  struct Result {
    Value hidden;      ///< bf16 [R*B, D], un-normed
    Value raw_logits;  ///< f32 [R*B, V]
  };
  Result epilogue();

  Value& streams() { return forward_.streams; }
  Value& pre() { return forward_.pre; }

 private:
  Value attention(const Attention& attn, std::int64_t index, const Value& x);

  DraftShape shape_;
  StepShape step_;
  Forward forward_;
  graph::Emitter& e_;
  const ModelContext context_;
};

/// One Markov step (speculative.md 1.3): inputs "markov.previous" s32[R], "markov.raw_logits" f32[R,V],
/// "markov.hidden" bf16[R,D]; results logits f32[R,V] and confidence f32[R,1].
std::pair<Value, Value> markov_step(graph::Emitter& e, const ModelContext& context, std::int64_t num_requests);

/// A cache view in the form that state ops take.
ops::StateView state_view(const kv::CacheView& view);

/// Rows of the block [anchor, noise, ...].
inline std::int64_t draft_block(const checkpoint::ModelConfig& config) { return config.dspark_block_size; }

}  // namespace deepinfer::model::deepseek_v41
