// Settings of an engine: which model, how it runs, and the defaults of sampling.
//
// Every field has a usable default except `model`. `LLMEngine::create` checks all of them; an error names the field,
// the value and the values accepted. Source: engine.md 22, original-engine.md 1.2, numerics.md 11.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace deepinfer {

/// How decode and draft steps run; the results are the same bits.
enum class GraphMode : std::uint8_t {
  kEager,  ///< op by op
  kGraph,  ///< captured graphs, one a batch size
};

/// How a token is drawn at temperature > 0 (engine.md 12.4, numerics.md 10).
enum class Draw : std::uint8_t {
  kGumbel,  ///< argmax of logit + noise of (seed, position, id)
  kCdf,     ///< first id whose running sum exceeds u
};

/// When a draft counts as accepted (engine.md 17.3).
enum class SpecAccept : std::uint8_t {
  kCoupled,    ///< it equals the token drawn without drafts: texts do not depend on drafts
  kRejection,  ///< the classical rule: same distribution, other texts than without drafts
};

/// How many proposed drafts are verified (speculative.md 5).
enum class SpecLength : std::uint8_t {
  kThreshold,  ///< cut at the first draft whose predicted acceptance is below `spec_threshold`
  kFixed,      ///< all of them
};

/// What reported log-probabilities are taken from (engine.md 13).
enum class LogprobMode : std::uint8_t {
  kRaw,        ///< the model's logits
  kProcessed,  ///< after bans, penalties, temperature and filters
};

/// Whether control tokens that only appear in prompts may be sampled (engine.md 12.1).
enum class ControlTokens : std::uint8_t {
  kBan,    ///< only the end marker, the thinking markers and the tool marker
  kAllow,  ///< any id: comparison with goldens that were made without bans
};

/// Whether outputs carry the mass of the tokens not more likely than the drawn one (costs a pass over the row).
enum class SumSmallerProbs : std::uint8_t { kOff, kOn };

struct EngineArgs {
  std::string model;    ///< checkpoint folder with config.json, weights and tokenizer.json
  int num_threads = 0;  ///< 0 = one per usable core
  std::string cpu_isa;  ///< "" = fastest; scalar, avx2, avx512, neon
  GraphMode graph_mode = GraphMode::kGraph;
  /// Mode switches of numerics.md 11 by name: index_scores, prefill_tail, draw, spec_accept, logprob_mode, ...
  std::vector<std::pair<std::string, std::string>> settings;

  std::int64_t max_model_len = 0;    ///< tokens of prompt and completion; 0 = 4,096 or the checkpoint's context if less
  std::int64_t max_num_seqs = 1;     ///< sequences that run at the same time; more wait
  std::int64_t prefill_chunk = 512;  ///< prompt tokens a step; 0 = the whole prompt. Never changes results
  std::int64_t num_drafts = 5;       ///< drafts a step, 0 … 64; the draft model proposes at most its block
  SpecLength spec_length = SpecLength::kThreshold;
  double spec_threshold = 0.5;                      ///< (0, 1]
  std::vector<double> confidence_temperature{1.0};  ///< one value or one a draft position, each > 0
  std::int64_t batch_size_interval = 8;             ///< grid of captured batch sizes

  Draw draw = Draw::kGumbel;
  SpecAccept spec_accept = SpecAccept::kCoupled;
  LogprobMode logprob_mode = LogprobMode::kRaw;
  ControlTokens control_tokens = ControlTokens::kBan;
  std::vector<std::int32_t> token_blacklist;  ///< ids that are never sampled
  SumSmallerProbs sum_smaller_probs = SumSmallerProbs::kOff;
};

/// Called while a model loads: a stage name and the share done, 0 … 1.
using ProgressFn = std::function<void(std::string_view stage, double done)>;

}  // namespace deepinfer
