// What `run` and `chat` share: sampling flags, an engine, and one streamed completion with its parts told apart.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "deepinfer/llm.h"
#include "prompt/prompt.h"
#include "settings.h"

namespace deepinfer::cli {

/// Sampling as the flags give it; what is absent comes from the request body, then from the model's
/// generation_config.json, then from SamplingParams.
struct SamplingFlags {
  std::optional<std::int64_t> max_tokens, top_k, seed, logprobs;
  std::optional<double> temperature, top_p, min_p;
  bool greedy = false;
  std::vector<std::string> stop;
  std::string drafts = "auto";

  void define(Arguments& arguments);
};

/// temperature, top_p and top_k of DIR/generation_config.json; do_sample false is temperature 0. No file: no values.
/// Errors: kInvalidArgument naming file, key and value.
Status apply_generation_config(const std::string& folder, SamplingParams& params);
/// Sampling fields that a request body holds. Errors: kUnsupported for several choices and for output formats.
Status apply_request(const base::Json& body, const prompt::InferenceSettings& inference, SamplingParams& params);
void apply_flags(const SamplingFlags& flags, SamplingParams& params);

/// Tokens that a completion may have when nobody says: enough for an answer with reasoning.
inline constexpr std::int64_t kDefaultMaxTokens = 2048;

/// Engine settings of the flags and the environment. `max_model_len` bounds prompt and completion together.
EngineArgs engine_args(const ModelFlags& model, const SamplingFlags& sampling, const Context& context,
                       const std::string& folder, std::int64_t max_model_len);
/// Loads with a progress bar on standard error.
Result<std::unique_ptr<LLM>> open_llm(const EngineArgs& args);

/// One completion. `parsed` holds text and reasoning; in raw mode everything is `parsed.content`.
struct Answer {
  Completion completion;
  prompt::ParsedCompletion parsed;
  bool interrupted = false;
};
using EventSink = std::function<void(const prompt::ParseEvent& event)>;

/// Streams a completion into `sink`. With parsing options the parts of a chat answer are told apart and their stop
/// strings end the answer text; without them (raw) `params.stop` ends the text.
/// Errors: as LLM::stream, and the error that ended the request.
Result<Answer> generate(LLM& llm, const std::vector<std::int32_t>& prompt, const SamplingParams& params,
                        const std::optional<prompt::ParsingOptions>& parsing, const EventSink& sink);

/// Shows a stream on standard output: reasoning dimmed on a terminal and closed by a blank line, calls as
/// "[call NAME ARGUMENTS]".
class StreamPrinter {
 public:
  void show(const prompt::ParseEvent& event);
  /// Ends the last line.
  void finish();

 private:
  void enter(prompt::ParseEvent::Kind kind);
  std::optional<prompt::ParseEvent::Kind> last_;
  bool line_open_ = false;
};

base::Json tool_calls_json(const prompt::ParsedCompletion& parsed);
base::Json usage_json(const Usage& usage);
base::Json timings_json(const Timings& timings, double load_s);

}  // namespace deepinfer::cli
