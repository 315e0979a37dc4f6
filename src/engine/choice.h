// One completion on its way: its sequence, its sampler, its text, and the outputs that tokens become.
//
// A choice decides when it ends (end token, stop string, limit, error); the engine decides when it runs.
// Source: engine.md 3, 13, 14.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepinfer/request.h"
#include "engine/sampling/sampler.h"
#include "engine/sampling/stop_scanner.h"
#include "engine/sequence.h"
#include "engine/speculative/length_policy.h"
#include "engine/speculative/verifier.h"
#include "tokenizer/detokenizer.h"

namespace deepinfer::engine {

using Clock = std::chrono::steady_clock;

/// What the choices of one request share.
struct RequestInfo {
  std::string id;
  std::vector<std::int32_t> prompt;
  std::uint64_t seed = 0;
  std::int64_t limit = 0;  ///< completion tokens: max_tokens or what the context leaves
  std::int64_t num_drafts = 0;
  LengthPolicy policy;
  SumSmallerProbs sum_smaller = SumSmallerProbs::kOff;
  Clock::time_point added;
};

class Choice {
 public:
  enum class Phase : std::uint8_t { kWaiting, kPrefill, kDecode, kFinished };

  Choice(std::shared_ptr<const RequestInfo> info, std::int64_t index, SamplingRules rules,
         const tokenizer::Tokenizer& tokenizer);

  const RequestInfo& info() const { return *info_; }
  std::int64_t index() const { return index_; }
  Phase phase() const { return phase_; }
  Sampler& sampler() { return sampler_; }
  const SamplingRules& rules() const { return sampler_.rules(); }
  std::int64_t num_prompt() const { return std::ssize(info_->prompt); }
  std::int64_t num_generated() const { return std::ssize(sampler_.history().generated()); }
  /// Tokens that may still be emitted.
  std::int64_t num_left() const { return info_->limit - num_generated(); }
  bool wants_prompt_logprobs() const;

  void start();  ///< kWaiting -> kPrefill
  /// Log-probabilities of prompt tokens `first` + 1 ... from rows of positions `first` ...; a row is vocab wide.
  Status score_prompt(std::int64_t first, std::span<const float> rows, std::size_t vocab);
  /// Emits a decided token; afterwards the phase is kDecode or kFinished.
  void emit(const RowDecision& decision, std::span<const float> logits, std::vector<RequestOutput>& out);
  /// Ends without a further token.
  void finish(FinishReason reason, std::vector<RequestOutput>& out);
  void fail(Error error, std::vector<RequestOutput>& out);

  /// Counts a decode step that verifies that many drafts, before its tokens are emitted.
  void begin_step(std::int64_t num_drafts);

  Sequence sequence;

 private:
  RequestOutput make_output();
  void add_logprobs(const RowDecision& decision, std::span<const float> logits, RequestOutput& output) const;
  void scan(std::string_view text, RequestOutput& output);
  void close(FinishReason reason, RequestOutput& output);

  std::shared_ptr<const RequestInfo> info_;
  std::int64_t index_;
  Phase phase_ = Phase::kWaiting;
  Sampler sampler_;
  tokenizer::Detokenizer detokenizer_;
  StopScanner scanner_;
  bool text_cut_ = false;  // a stop string was found: nothing more is shown
  std::vector<float> prompt_logprobs_;
  std::int64_t step_tokens_ = 0;
  Timings timings_;
  Clock::time_point started_;
  Clock::time_point first_token_;
};

}  // namespace deepinfer::engine
