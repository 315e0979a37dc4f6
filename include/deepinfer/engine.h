// LLMEngine: requests in, one output a token, advanced step by step.
//
// A step computes at most one chunk of a waiting prompt and one decode step (with drafts) of every running sequence.
// Tokens, texts and log-probabilities of a request depend only on its prompt, its parameters and its seed: not on
// companions, chunk size, threads, graph mode or drafts (coupled acceptance). Source: engine.md 1, 2, 17.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "deepinfer/config.h"
#include "deepinfer/request.h"
#include "deepinfer/status.h"

namespace deepinfer {

namespace engine {
struct LoadedModel;
}

/// What drafts did since the start, over all requests (speculative.md 6).
struct SpecStats {
  std::vector<std::int64_t> proposed;  ///< by draft position: asked for
  std::vector<std::int64_t> verified;  ///< kept by the length policy
  std::vector<std::int64_t> accepted;
  std::int64_t decode_steps = 0;  ///< verifications, one a sequence and step
  std::int64_t tokens = 0;        ///< emitted by them
  double draft_s = 0;             ///< time of draft passes
  double verify_s = 0;            ///< time of decode steps of the target
  double mean_accepted_len() const { return decode_steps > 0 ? double(tokens) / double(decode_steps) : 0; }
  double mean_verified_len() const;  ///< drafts a verification
  double acceptance(std::size_t k) const { return verified[k] > 0 ? double(accepted[k]) / double(verified[k]) : 0; }
  double confidence_error = 0;  ///< mean of predicted minus observed acceptance of verified drafts
};

struct EngineInfo {
  std::int64_t vocab_size = 0;
  std::int64_t max_model_len = 0;
  std::int64_t num_drafts = 0;       ///< 0 when the checkpoint has no draft model
  std::int64_t workspace_bytes = 0;  ///< caches and arenas, without weights
  double load_s = 0;
  std::vector<std::string> non_default_modes;  ///< "key=value"
};

class LLMEngine {
 public:
  /// Loads a model. Errors: those of the checkpoint and the tokenizer; kInvalidArgument for settings.
  static Result<std::unique_ptr<LLMEngine>> create(const EngineArgs& args, const ProgressFn& progress = {});
  /// The same on a loaded model (engine/load.h).
  static Result<std::unique_ptr<LLMEngine>> create(const EngineArgs& args, engine::LoadedModel loaded);
  ~LLMEngine();
  LLMEngine(const LLMEngine&) = delete;
  LLMEngine& operator=(const LLMEngine&) = delete;

  /// Queues a request. Callable from any thread. Errors: kInvalidArgument for an empty prompt, a token id outside the
  /// vocabulary (naming its position), a prompt longer than the context (both numbers), an id in use, parameters;
  /// kUnsupported for prompts with images.
  Status add_request(const std::string& request_id, std::span<const std::int32_t> prompt_token_ids,
                     const SamplingParams& params);
  /// Ends a request with kAborted; its last outputs come with the next step. Callable from any thread; unknown and
  /// finished ids are ignored. Returns whether the id was known.
  bool abort_request(const std::string& request_id);

  /// Advances all requests by one step and returns the new outputs in order. One thread at a time. Failures end the
  /// requests concerned (finish_reason kError) and nothing else.
  std::vector<RequestOutput> step();

  bool has_unfinished_requests() const;              ///< any thread
  std::int64_t get_num_unfinished_requests() const;  ///< any thread
  /// Blocks until there is work, `timeout` is over or wake() is called.
  void wait_for_work(std::chrono::milliseconds timeout);
  void wake();

  EngineInfo info() const;
  SpecStats spec_stats() const;  ///< between steps
  /// Token ids of a text. `special`: whether literals of added tokens become their ids.
  enum class Special : std::uint8_t { kText, kParse };
  Result<std::vector<std::int32_t>> tokenize(std::string_view text, Special special = Special::kText) const;
  Result<std::string> detokenize(std::span<const std::int32_t> ids) const;
  /// The parts, for layers above (engine/load.h). The runner must not be used while requests are unfinished.
  const engine::LoadedModel& loaded() const;

 private:
  struct Impl;
  explicit LLMEngine(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace deepinfer
