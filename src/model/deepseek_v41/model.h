// A loaded DeepSeek-V4.1: checkpoint, bound weights, and the host-side constants of a step (token classes, hash
// constants, rotary frequencies). Immutable after load and shared by everything that runs it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "checkpoint/checkpoint.h"
#include "model/deepseek_v41/weights.h"
#include "ops/engram_hash/engram_hash.h"

namespace deepinfer::model::deepseek_v41 {

class Model {
 public:
  /// Opens and validates a checkpoint folder. `token_classes` is the folded token map of its tokenizer
  /// (tokenizer::fold_map), needed only when the model has Engram layers.
  /// Errors: those of Checkpoint::open; kInvalidArgument when the map does not fit the configuration.
  static Result<std::shared_ptr<const Model>> load(const std::string& dir, std::vector<std::int32_t> token_classes,
                                                   const checkpoint::LoadOptions& options = {});
  /// The same on an opened checkpoint.
  static Result<std::shared_ptr<const Model>> make(checkpoint::Checkpoint checkpoint,
                                                   std::vector<std::int32_t> token_classes);

  const checkpoint::ModelConfig& config() const { return checkpoint_.config(); }
  const checkpoint::Checkpoint& checkpoint() const { return checkpoint_; }
  const Weights& weights() const { return weights_; }
  /// Class of a token for the Engram hash.
  std::int32_t token_class(std::int32_t token) const { return classes_[static_cast<std::size_t>(token)]; }
  /// Hash constants of Engram layer number i (position in engram_layer_ids).
  const ops::EngramHash& engram_hash(std::int64_t i) const { return hashes_[static_cast<std::size_t>(i)]; }
  const std::vector<float>& rope_main() const { return rope_main_; }  ///< [rope dim / 2]
  const std::vector<float>& rope_compressed() const { return rope_compressed_; }

  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

 private:
  explicit Model(checkpoint::Checkpoint checkpoint) : checkpoint_(std::move(checkpoint)) {}
  Status prepare(std::vector<std::int32_t> token_classes);

  checkpoint::Checkpoint checkpoint_;
  Weights weights_;
  std::vector<std::int32_t> classes_;
  std::vector<ops::EngramHash> hashes_;
  std::vector<float> rope_main_;
  std::vector<float> rope_compressed_;
};

}  // namespace deepinfer::model::deepseek_v41
