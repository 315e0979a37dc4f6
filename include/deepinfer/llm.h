// LLM: blocking and streaming generation over an LLMEngine.
//
//   DI_ASSIGN(auto llm, LLM::create({.model = "models/tiny-chat"}));
//   DI_ASSIGN(auto ids, llm->tokenize("Good morning!"));
//   DI_ASSIGN(auto completions, llm->generate({ids}, {.temperature = 0, .max_tokens = 32}));
//
// Source: original-engine.md 1.1.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "deepinfer/engine.h"

namespace deepinfer {

/// Everything one choice of a request produced.
struct Completion {
  std::size_t prompt_index = 0;
  std::int64_t choice = 0;
  std::string text;
  std::vector<std::int32_t> token_ids;  ///< with the end token
  std::vector<float> logprobs;          ///< one a token, if asked for
  std::vector<std::vector<TokenLogprob>> top_logprobs;
  std::vector<float> prompt_logprobs;
  std::uint64_t seed = 0;
  FinishReason finish_reason = FinishReason::kNone;
  std::string stop_reason;
  std::optional<Error> error;
  Usage usage;
  Timings timings;
};

/// What a stream wants next.
enum class StreamAction : std::uint8_t {
  kContinue,
  kStop,  ///< abort the request; its last output has finish_reason kAborted
};
using StreamFn = std::function<StreamAction(const RequestOutput& output)>;

class LLM {
 public:
  /// Errors: as LLMEngine::create.
  static Result<std::unique_ptr<LLM>> create(const EngineArgs& args, const ProgressFn& progress = {});
  explicit LLM(std::unique_ptr<LLMEngine> engine);
  ~LLM();

  /// Completions in the order of prompts and choices. Without a seed every prompt gets its own. A failure of one
  /// request is in its Completion. Errors: as add_request, naming the prompt; nothing runs then.
  Result<std::vector<Completion>> generate(const std::vector<std::vector<std::int32_t>>& prompts,
                                           const SamplingParams& params);
  /// The same for one prompt, with a callback a token on the calling thread.
  Result<std::vector<Completion>> stream(std::span<const std::int32_t> prompt, const SamplingParams& params,
                                         const StreamFn& on_output);

  LLMEngine& engine() { return *engine_; }
  Result<std::vector<std::int32_t>> tokenize(std::string_view text) const { return engine_->tokenize(text); }

 private:
  Result<std::vector<Completion>> run(std::span<const std::vector<std::int32_t>> prompts, const SamplingParams& params,
                                      const StreamFn& on_output);

  std::unique_ptr<LLMEngine> engine_;
  std::int64_t next_id_ = 0;
};

}  // namespace deepinfer
