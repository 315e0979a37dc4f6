// The public API in one page: load a model, stream one completion, then complete two prompts at once.
//
//   generate [MODEL_DIR]
#include <cstdio>

#include "deepinfer/deepinfer.h"

namespace {

int fail(const deepinfer::Error& error) {
  std::fprintf(stderr, "%s\n", error.to_string().c_str());
  return deepinfer::exit_code_of(error.code);
}

}  // namespace

int main(int argc, char** argv) {
  deepinfer::EngineArgs args;
  args.model = argc > 1 ? argv[1] : "models/tiny-chat";
  args.max_num_seqs = 2;
  auto llm = deepinfer::LLM::create(args);
  if (!llm) return fail(llm.error());

  // Structure tokens of the prompt are read as such here; text of users is tokenised with Special::kText.
  const auto ids = (*llm)->engine().tokenize("<｜begin▁of▁sentence｜><｜User｜>Good morning!<｜Assistant｜></think>",
                                             deepinfer::LLMEngine::Special::kParse);
  if (!ids) return fail(ids.error());

  deepinfer::SamplingParams params;
  params.temperature = 0;
  params.max_tokens = 64;
  const auto streamed = (*llm)->stream(*ids, params, [](const deepinfer::RequestOutput& output) {
    std::printf("%s", output.text.c_str());
    return deepinfer::StreamAction::kContinue;
  });
  if (!streamed) return fail(streamed.error());
  std::printf("\n%.1f tokens per verification\n", (*streamed)[0].timings.mean_accepted_len);

  params.temperature = 0.7;
  params.seed = 1;
  const auto both = (*llm)->generate({*ids, *ids}, params);
  if (!both) return fail(both.error());
  for (const deepinfer::Completion& completion : *both) std::printf("%s\n", completion.text.c_str());
  return 0;
}
