// From engine settings to a loaded model: tokenizer, checkpoint, runner. The one place where they come together.
//
// Layers above use it to reach the tokenizer (prompt rendering) or the runner (logits, verification) of an engine.
#pragma once

#include <memory>

#include "deepinfer/config.h"
#include "deepinfer/status.h"
#include "engine/model_runner.h"
#include "engine/speculative/drafter.h"
#include "model/deepseek_v41/model.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::engine {

struct LoadedModel {
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  std::shared_ptr<const model::deepseek_v41::Model> model;
  std::unique_ptr<ModelRunner> runner;
  std::unique_ptr<Drafter> drafter;  ///< nullptr = the checkpoint's draft model; tests bring their own
  double load_s = 0;
};

/// `args` with the entries of `settings` that belong to the sampler (draw, spec_accept, logprob_mode) moved to their
/// fields, and every field checked. Errors: kInvalidArgument naming the field, the value and the values accepted.
Result<EngineArgs> resolve(EngineArgs args);

/// Numeric modes of resolved settings. Errors: those of model::set_mode.
Result<model::NumericModes> numeric_modes(const EngineArgs& args);

/// Opens `args.model`. Errors: those of the tokenizer, the checkpoint and the runner, with the folder as context.
Result<LoadedModel> load_model(const EngineArgs& args, const ProgressFn& progress = {});

/// A runner for `args` on a model that is loaded already.
Result<std::unique_ptr<ModelRunner>> make_runner(std::shared_ptr<const model::deepseek_v41::Model> model,
                                                 const EngineArgs& args);

}  // namespace deepinfer::engine
