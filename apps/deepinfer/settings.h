// Flags that every command with a model has, their environment variables, and what they become.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "action.h"
#include "engine/model_runner.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::cli {

/// UsageError for a variable of the table whose value is outside its list or range.
void check_environment(const base::Environ& env);

struct ModelFlags {
  std::string model;         ///< "" = the bundled tiny-chat
  std::int64_t threads = 0;  ///< 0 = one per usable core
  std::string isa;           ///< "" = fastest
  std::string graph_mode = "graph";
  std::vector<std::string> set;  ///< "key=value"

  void define(Arguments& arguments);
  /// Folder of the checkpoint. Errors: kNotFound.
  Result<std::string> folder(const Context& context) const;
  /// Mode switches of --set and of DEEPINFER_YOCO_*. UsageError for an unknown mode or value.
  std::vector<std::pair<std::string, std::string>> settings(const Context& context) const;
  /// The numeric ones of them.
  model::NumericModes modes(const Context& context) const;
  /// Options of a runner; lengths and draft counts are left at their defaults.
  engine::RunnerOptions runner_options(const Context& context) const;
};

/// A model that is ready to compute.
struct LoadedRunner {
  std::shared_ptr<const tokenizer::Tokenizer> tokenizer;
  std::shared_ptr<const model::deepseek_v41::Model> model;
  std::unique_ptr<engine::ModelRunner> runner;
  double load_s = 0;
};
/// Tokenizer and weights only. Errors: those of the files.
Result<LoadedRunner> load_weights(const std::string& folder);
/// Errors also: those of ModelRunner::create.
Status start_runner(LoadedRunner& loaded, const engine::RunnerOptions& options);

}  // namespace deepinfer::cli
