#include "model/deepseek_v41/model.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/numeric/rope_table.h"

namespace deepinfer::model::deepseek_v41 {

Result<std::shared_ptr<const Model>> Model::load(const std::string& dir, std::vector<std::int32_t> token_classes,
                                                 const checkpoint::LoadOptions& options) {
  DI_ASSIGN(checkpoint::Checkpoint checkpoint, checkpoint::Checkpoint::open(dir, options));
  return make(std::move(checkpoint), std::move(token_classes));
}

Result<std::shared_ptr<const Model>> Model::make(checkpoint::Checkpoint checkpoint,
                                                 std::vector<std::int32_t> token_classes) {
  std::shared_ptr<Model> model(new Model(std::move(checkpoint)));
  DI_TRY(model->prepare(std::move(token_classes)));
  return std::shared_ptr<const Model>(std::move(model));
}

Status Model::prepare(std::vector<std::int32_t> token_classes) {
  weights_ = bind_weights(checkpoint_);
  const checkpoint::ModelConfig& c = config();
  rope_main_ = numeric::rope_frequencies({.dim = c.qk_rope_head_dim, .base = c.rope_theta});
  rope_compressed_ = numeric::rope_frequencies({.dim = c.qk_rope_head_dim,
                                                .base = c.compress_rope_theta,
                                                .factor = c.rope_factor,
                                                .original_length = c.original_max_position_embeddings,
                                                .beta_fast = c.rope_beta_fast,
                                                .beta_slow = c.rope_beta_slow});
  if (c.engram_layer_ids.empty()) return {};
  classes_ = std::move(token_classes);
  if (static_cast<std::int64_t>(classes_.size()) != c.vocab_size) {
    return errorf(ErrorCode::kInvalidArgument, "the folded token map has {} entries, vocab_size is {}: {}",
                  classes_.size(), c.vocab_size, "Engram layers need the checkpoint's tokenizer.json");
  }
  const std::int64_t num_classes = *std::max_element(classes_.begin(), classes_.end()) + 1;
  if (num_classes != c.engram_compressed_vocab_size) {
    return errorf(ErrorCode::kInvalidArgument, "the tokenizer folds to {} classes, engram_compressed_vocab_size is {}",
                  num_classes, c.engram_compressed_vocab_size);
  }
  for (const checkpoint::EngramLayout& layout : checkpoint_.engram_layouts()) {
    hashes_.push_back({.max_ngram = c.engram_max_ngram_size,
                       .heads = c.engram_n_heads,
                       .primes = layout.primes,
                       .offsets = layout.offsets,
                       .multipliers = layout.multipliers,
                       .pad_class = token_class(static_cast<std::int32_t>(c.engram_pad_token_id))});
  }
  return {};
}

}  // namespace deepinfer::model::deepseek_v41
