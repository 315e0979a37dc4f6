// What every step of one model shares.
#pragma once

#include "checkpoint/config.h"
#include "kv/cache_layout.h"
#include "model/deepseek_v41/weights.h"
#include "model/modes.h"

namespace deepinfer::model::deepseek_v41 {

/// What a forward pass needs besides the step; shared by all steps.
struct ModelContext {
  const checkpoint::ModelConfig* config = nullptr;
  const Weights* weights = nullptr;
  const kv::CacheLayout* layout = nullptr;
  NumericModes modes;
};

}  // namespace deepinfer::model::deepseek_v41
