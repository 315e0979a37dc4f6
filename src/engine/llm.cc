#include "deepinfer/llm.h"

#include <map>
#include <utility>

#include "base/error.h"

namespace deepinfer {

Result<std::unique_ptr<LLM>> LLM::create(const EngineArgs& args, const ProgressFn& progress) {
  DI_ASSIGN(std::unique_ptr<LLMEngine> engine, LLMEngine::create(args, progress));
  return std::make_unique<LLM>(std::move(engine));
}

LLM::LLM(std::unique_ptr<LLMEngine> engine) : engine_(std::move(engine)) {}
LLM::~LLM() = default;

namespace {

void append(Completion& to, const RequestOutput& output) {
  to.text += output.text;
  if (output.token_id >= 0) to.token_ids.push_back(output.token_id);
  if (output.logprob) {
    to.logprobs.push_back(*output.logprob);
    to.top_logprobs.push_back(output.top_logprobs);
  }
  if (!output.prompt_logprobs.empty()) to.prompt_logprobs = output.prompt_logprobs;
  to.seed = output.seed;
  to.usage = output.usage;
  if (!output.finished) return;
  to.finish_reason = output.finish_reason;
  to.stop_reason = output.stop_reason;
  to.error = output.error;
  to.timings = output.timings;
}

}  // namespace

Result<std::vector<Completion>> LLM::run(std::span<const std::vector<std::int32_t>> prompts,
                                         const SamplingParams& params, const StreamFn& on_output) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < prompts.size(); ++i) {
    const std::string id = "llm-" + std::to_string(next_id_++);
    if (auto added = engine_->add_request(id, prompts[i], params); !added) {
      for (const auto& [other, unused] : index) engine_->abort_request(other);
      while (engine_->has_unfinished_requests()) engine_->step();
      return with_context(added.error(), "prompt " + std::to_string(i));
    }
    index.emplace(id, i);
  }
  const auto num_choices = static_cast<std::size_t>(params.num_choices);
  std::vector<Completion> out(prompts.size() * num_choices);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].prompt_index = i / num_choices;
    out[i].choice = static_cast<std::int64_t>(i % num_choices);
  }
  while (engine_->has_unfinished_requests()) {
    for (const RequestOutput& output : engine_->step()) {
      const auto it = index.find(output.request_id);
      if (it == index.end()) continue;  // a request of the caller's own
      append(out[it->second * num_choices + static_cast<std::size_t>(output.choice)], output);
      if (on_output && on_output(output) == StreamAction::kStop) engine_->abort_request(output.request_id);
    }
  }
  return out;
}

Result<std::vector<Completion>> LLM::generate(const std::vector<std::vector<std::int32_t>>& prompts,
                                              const SamplingParams& params) {
  return run(prompts, params, {});
}

Result<std::vector<Completion>> LLM::stream(std::span<const std::int32_t> prompt, const SamplingParams& params,
                                            const StreamFn& on_output) {
  const std::vector<std::int32_t> copy(prompt.begin(), prompt.end());
  return run(std::span(&copy, 1), params, on_output);
}

}  // namespace deepinfer
