// Tiny configurations beyond the golden folders, with generated weights. Source: model.md 12.
//
// They have no official outputs: forms, modes and a float64 model are compared among each other. All use the vocabulary
// of 512 tokens (443 folded classes) of the golden folders, so any of their tokenizers fits.
#pragma once

#include <span>
#include <string_view>

#include "checkpoint/checkpoint.h"
#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

struct Fixture {
  std::string_view name;
  std::string_view purpose;
};

std::span<const Fixture> fixtures();
/// Errors: kNotFound listing the names.
Result<ModelConfig> fixture_config(std::string_view name);
/// Weights of fixed seed: the same bytes on every machine (their SHA-256 is pinned by a test).
Result<Checkpoint> fixture_checkpoint(std::string_view name);

}  // namespace deepinfer::checkpoint
