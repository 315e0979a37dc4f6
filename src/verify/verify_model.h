// `deepinfer verify model DIR`: a golden model folder against this build (cli.md, goldens/model/README.md,
// goldens/tiny-chat/README.md, numerics.md 12).
//
// Form 1 (checkpoint + outputs in one folder): every recorded block is replayed from its recorded inputs and compared
// tensor by tensor; prompts, greedy continuations in both decode modes, drafts and image spans run end to end; chunk
// sizes must give the same bits; the canonical attention list must stay within `limit`.
// Form 2 (prompts of a checkpoint that lies elsewhere): every judged step of every prompt, and the drafts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/model_runner.h"
#include "verify/report.h"

namespace deepinfer::verify {

struct ModelOptions {
  std::string model_dir;                             ///< form 2: the checkpoint the manifest's hashes must match
  std::vector<std::int64_t> chunks = {1, 3, 7, 64};  ///< prefill chunk sizes that must equal one-shot prefill
  engine::GraphMode graph_mode = engine::GraphMode::kGraph;
  int num_threads = 0;
  std::string cpu_isa;
  std::vector<std::pair<std::string, std::string>> modes;  ///< on top of the modes that numerics.md 12 demands
  std::string ablate;  ///< test builds: leave one ingredient of noise.json out (ablation.h); must make it fail
  enum class Prompts : std::uint8_t { kGolden, kValidation } prompts = Prompts::kGolden;  ///< form 2: which ones
  std::string only;  ///< glob over "op/case", empty = all
};

/// Errors: kNotFound, kInvalidArgument (manifest, model), kDataCorruption (form 2: hash mismatch naming both).
Result<Report> verify_model(const std::string& dir, const ModelOptions& options);

}  // namespace deepinfer::verify
