// The parts of `verify model`: replay of recorded blocks, folders of form 2, and ablations.
#pragma once

#include <string>
#include <vector>

#include "verify/golden_folder.h"
#include "verify/model_session.h"
#include "verify/verify_model.h"

namespace deepinfer::verify {

/// Feeds every block its recorded input and compares every recorded tensor with its limit in noise.json.
Status replay_blocks(GoldenFolder& golden, ModelSession& session, Report& report);

/// Prompts of a checkpoint that lies elsewhere (goldens/tiny-chat).
Result<Report> verify_form2(GoldenFolder golden, const ModelOptions& options);

/// validation.jsonl of such a folder through the engine.
Result<Report> verify_validation(const GoldenFolder& golden, const ModelOptions& options);

/// Names of the ingredients that can be left out; those of noise.json.
std::vector<std::string> ablation_names();

/// Leaves one ingredient out of every step of a runner for its lifetime; an empty name does nothing.
class AblationScope {
 public:
  /// Errors: kInvalidArgument listing the names.
  static Result<AblationScope> start(const std::string& name, engine::ModelRunner& runner);
  AblationScope(AblationScope&& other) noexcept : runner_(std::exchange(other.runner_, nullptr)) {}
  AblationScope(const AblationScope&) = delete;
  AblationScope& operator=(AblationScope&&) = delete;
  AblationScope& operator=(const AblationScope&) = delete;
  ~AblationScope();

 private:
  AblationScope() = default;
  engine::ModelRunner* runner_ = nullptr;
};

}  // namespace deepinfer::verify
