// A loaded model with a runner, and the few sequences of steps that the model checks share.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/model_runner.h"
#include "verify/verify_model.h"

namespace deepinfer::verify {

/// Tokenizer, folded map and checkpoint of a folder.
Result<std::shared_ptr<const model::deepseek_v41::Model>> load_model(const std::string& dir);

/// Modes of golden comparisons (numerics.md 12) with the given changes on top.
Result<model::NumericModes> golden_modes(const ModelOptions& options);

class ModelSession {
 public:
  /// A runner with a context of `max_len` tokens and the model's own draft length.
  static Result<ModelSession> open(std::shared_ptr<const model::deepseek_v41::Model> model,
                                   const model::NumericModes& modes, const ModelOptions& options, std::int64_t max_len);

  engine::ModelRunner& runner() { return *runner_; }
  const checkpoint::ModelConfig& config() const { return runner_->model().config(); }
  std::int64_t vocab() const { return config().vocab_size; }

  /// Starts over with these tokens. This and the calls below throw BadGolden for ids outside the vocabulary and for
  /// more tokens than the context. `types` as goldens/model image.safetensors: -1 text, else image span.
  void start(std::span<const std::int32_t> tokens, std::span<const std::int32_t> types = {});
  engine::Sequence& sequence() { return sequence_; }
  /// Logits of all positions, in chunks (0 = whole), with the exact tail off so that every row runs.
  std::vector<float> prefill(std::int64_t chunk = 0, const Tensor* embeds = nullptr);
  /// Feeds one token by a decode step; logits [vocab].
  std::vector<float> decode(std::int32_t token);

  struct Draft {
    std::vector<std::int32_t> ids;  ///< anchor, then greedy drafts
    std::vector<float> raw_logits;  ///< [B, V]
    std::vector<float> logits;      ///< [B, V] after the Markov bias
    std::vector<float> confidence;  ///< [B]
  };
  Draft draft(std::int32_t anchor);

  ~ModelSession();
  ModelSession(ModelSession&&) = default;
  ModelSession& operator=(ModelSession&&) = default;

 private:
  ModelSession() = default;
  void check_id(std::int32_t token) const;
  std::unique_ptr<engine::ModelRunner> runner_;
  engine::Sequence sequence_;
};

}  // namespace deepinfer::verify
