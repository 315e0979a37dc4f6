// The engine on tiny-chat: goldens, and one text per request whatever the drafts, chunks, threads, modes, companions.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <thread>

#include "base/io.h"
#include "base/json.h"
#include "deepinfer/engine.h"
#include "deepinfer/llm.h"
#include "engine/load.h"
#include "engine/logits.h"
#include "tokenizer/fold_map.h"

namespace deepinfer {
namespace {

using ::testing::HasSubstr;
using Ids = std::vector<std::int32_t>;

const std::string kModel = std::string(DEEPINFER_SOURCE_DIR) + "/models/tiny-chat";
const std::string kGolden = std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/tiny-chat/";

EngineArgs tiny() {
  EngineArgs args;
  args.model = kModel;
  args.num_threads = 1;
  args.max_model_len = 512;
  return args;
}

// One model for all engines of the program.
engine::LoadedModel load(const EngineArgs& args) {
  static const engine::LoadedModel shared = [] {
    auto loaded = engine::load_model(tiny());
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().to_string());
    return std::move(*loaded);
  }();
  engine::LoadedModel out{shared.tokenizer, shared.model, nullptr, nullptr, 0};
  auto runner = engine::make_runner(shared.model, *engine::resolve(args));
  EXPECT_TRUE(runner.has_value()) << (runner ? "" : runner.error().to_string());
  out.runner = std::move(*runner);
  return out;
}

LLM make_llm(const EngineArgs& args, std::unique_ptr<engine::Drafter> drafter = nullptr) {
  engine::LoadedModel loaded = load(args);
  loaded.drafter = std::move(drafter);
  auto made = LLMEngine::create(args, std::move(loaded));
  EXPECT_TRUE(made.has_value()) << (made ? "" : made.error().to_string());
  return LLM(std::move(*made));
}

base::Json golden(const std::string& name) { return *base::parse_json(*base::read_file(kGolden + name + ".json")); }
Ids ids_of(const base::Json& list) {
  Ids out;
  for (const base::Json& id : list.items()) out.push_back(static_cast<std::int32_t>(*id.as_int()));
  return out;
}
Ids prompt_of(const std::string& name) { return ids_of(*golden(name).find("prompt_ids")); }

SamplingParams greedy(std::int64_t max_tokens = 48) {
  SamplingParams params;
  params.temperature = 0;
  params.max_tokens = max_tokens;
  params.logprobs = 1;
  return params;
}
SamplingParams seeded(std::int64_t max_tokens = 48) {
  SamplingParams params = greedy(max_tokens);
  params.temperature = 0.8;
  params.top_p = 0.97;
  params.seed = 20261201;
  params.end_tokens = EndTokens::kIgnore;
  return params;
}

Completion one(LLM& llm, const Ids& prompt, const SamplingParams& params) {
  auto result = llm.generate(std::vector<Ids>{prompt}, params);
  EXPECT_TRUE(result.has_value()) << (result ? "" : result.error().to_string());
  EXPECT_FALSE((*result)[0].error) << (*result)[0].error->to_string();
  return (*result)[0];
}

void expect_same(const Completion& found, const Completion& expected, const std::string& what) {
  EXPECT_EQ(found.token_ids, expected.token_ids) << what;
  EXPECT_EQ(found.text, expected.text) << what;
  EXPECT_EQ(found.logprobs, expected.logprobs) << what;
  EXPECT_EQ(found.finish_reason, expected.finish_reason) << what;
}

class GoldenContinuation : public ::testing::TestWithParam<const char*> {};

// Tokens agree with the oracle where its margin is above its noise floor; drafts are on.
TEST_P(GoldenContinuation, GreedyTokens) {
  EngineArgs args = tiny();
  args.max_model_len = 2048;
  args.control_tokens = ControlTokens::kAllow;
  LLM llm = make_llm(args);
  const base::Json expected = golden(GetParam());
  SamplingParams params = greedy();
  params.end_tokens = EndTokens::kIgnore;
  const Completion found = one(llm, ids_of(*expected.find("prompt_ids")), params);
  const Ids tokens = ids_of(*expected.find("continuation"));
  ASSERT_EQ(found.token_ids.size(), tokens.size());
  const base::Json* stops_at = expected.find("stops_at");
  const auto answer = stops_at->as_int() ? static_cast<std::size_t>(*stops_at->as_int()) + 1 : tokens.size();
  std::size_t step = 0;
  for (; step < tokens.size() && found.token_ids[step] == tokens[step]; ++step) {
  }
  if (step < tokens.size()) {
    EXPECT_TRUE(expected.find("steps")->items()[step].find("below_noise_floor")->boolean()) << "step " << step;
  }
  EXPECT_GE(step, answer - 1) << "the golden answer itself has wide margins";
  RecordProperty("mean_accepted_len", std::to_string(found.timings.mean_accepted_len));
}
INSTANTIATE_TEST_SUITE_P(Tiny, GoldenContinuation,
                         ::testing::Values("greeting", "story", "json", "arithmetic-thinking"));

struct Variant {
  const char* name;
  void (*change)(EngineArgs&);
};
const Variant kVariants[] = {
    {"no drafts", [](EngineArgs& a) { a.num_drafts = 0; }},
    {"two drafts", [](EngineArgs& a) { a.num_drafts = 2; }},
    {"fixed drafts", [](EngineArgs& a) { a.spec_length = SpecLength::kFixed; }},
    {"chunk 1", [](EngineArgs& a) { a.prefill_chunk = 1; }},
    {"chunk 3", [](EngineArgs& a) { a.prefill_chunk = 3; }},
    {"chunk 7", [](EngineArgs& a) { a.prefill_chunk = 7; }},
    {"chunk 64", [](EngineArgs& a) { a.prefill_chunk = 64; }},
    {"whole prompt", [](EngineArgs& a) { a.prefill_chunk = 0; }},
    {"two threads", [](EngineArgs& a) { a.num_threads = 2; }},
    {"eager", [](EngineArgs& a) { a.graph_mode = GraphMode::kEager; }},
    {"eager, no drafts, scalar",
     [](EngineArgs& a) {
       a.graph_mode = GraphMode::kEager;
       a.num_drafts = 0;
       a.cpu_isa = "scalar";
     }},
};

TEST(Invariance, OneTextForEverySetting) {
  const Ids prompt = prompt_of("json");
  LLM reference = make_llm(tiny());
  const Completion expected_greedy = one(reference, prompt, greedy());
  const Completion expected_seeded = one(reference, prompt, seeded());
  EXPECT_NE(expected_greedy.token_ids, expected_seeded.token_ids);
  EXPECT_EQ(expected_seeded.token_ids.size(), 48U);
  for (const Variant& variant : kVariants) {
    EngineArgs args = tiny();
    variant.change(args);
    LLM llm = make_llm(args);
    expect_same(one(llm, prompt, greedy()), expected_greedy, std::string("greedy, ") + variant.name);
    expect_same(one(llm, prompt, seeded()), expected_seeded, std::string("seeded, ") + variant.name);
  }
}

TEST(Invariance, CompanionsAndOrderDoNotMatter) {
  EngineArgs args = tiny();
  args.max_num_seqs = 3;
  args.prefill_chunk = 16;
  LLM llm = make_llm(args);
  const std::vector<Ids> prompts{prompt_of("json"), prompt_of("greeting"), prompt_of("story"), prompt_of("identity")};
  std::vector<Completion> alone;
  for (const Ids& prompt : prompts) alone.push_back(one(llm, prompt, seeded(32)));
  const auto together = *llm.generate(prompts, seeded(32));
  ASSERT_EQ(together.size(), prompts.size());
  for (std::size_t i = 0; i < prompts.size(); ++i) expect_same(together[i], alone[i], std::to_string(i));
  const auto reversed = *llm.generate(std::vector<Ids>(prompts.rbegin(), prompts.rend()), seeded(32));
  for (std::size_t i = 0; i < prompts.size(); ++i) expect_same(reversed[prompts.size() - 1 - i], alone[i], "reversed");
}

// The rules that look at the history must see the same history with and without drafts.
TEST(Invariance, HistoryRulesWithDrafts) {
  SamplingParams params = seeded();
  params.repetition_penalty = 1.3;
  params.frequency_penalty = 0.4;
  params.presence_penalty = 0.2;
  params.min_p = 0.02;
  params.top_k = 50;
  params.logit_bias = {{223, 2.0}};
  params.bad_words = {"the"};
  params.min_tokens = 10;
  params.end_tokens = EndTokens::kStop;
  for (const Draw draw : {Draw::kGumbel, Draw::kCdf}) {
    params.draw = draw;
    LLM with = make_llm(tiny());
    EngineArgs off = tiny();
    off.num_drafts = 0;
    LLM without = make_llm(off);
    expect_same(one(with, prompt_of("story"), params), one(without, prompt_of("story"), params), "history rules");
  }
}

// 1,400 tokens against an exact tail of 64 + 63 * 2 = 190: most prompt rows never run the decoder half.
TEST(Invariance, ExactTailEqualsFull) {
  const Ids prompt = prompt_of("retrieval-long");
  ASSERT_GT(prompt.size(), 500U);
  EngineArgs args = tiny();
  args.max_model_len = 2048;
  args.settings = {{"prefill_tail", "full"}};
  LLM full = make_llm(args);
  const Completion expected = one(full, prompt, seeded(24));
  args.settings = {{"prefill_tail", "exact"}};
  for (const std::int64_t chunk : {0, 61, 512}) {
    args.prefill_chunk = chunk;
    args.num_drafts = chunk == 61 ? 0 : 5;
    LLM exact = make_llm(args);
    expect_same(one(exact, prompt, seeded(24)), expected, "chunk " + std::to_string(chunk));
  }
  args.settings = {{"prefill_tail", "69"}};  // window 64 + 5 drafts + 1 = 70
  const auto refused = LLMEngine::create(args);
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("70"), std::string::npos) << refused.error().message;
}

// Random weights: drafts are nearly always wrong, which is the other end of acceptance.
TEST(Invariance, RandomCheckpoint) {
  EngineArgs args = tiny();
  args.model = std::string(DEEPINFER_SOURCE_DIR) + "/tests/golden/model/micro/checkpoint";
  args.max_model_len = 256;
  args.spec_length = SpecLength::kFixed;
  args.control_tokens = ControlTokens::kAllow;
  auto with = LLM::create(args);
  ASSERT_TRUE(with) << with.error().to_string();
  args.num_drafts = 0;
  args.prefill_chunk = 5;
  auto without = LLM::create(args);
  ASSERT_TRUE(without) << without.error().to_string();
  Ids prompt;
  for (std::int32_t i = 0; i < 40; ++i) prompt.push_back((i * 37 + 11) % 400);
  expect_same(one(**with, prompt, greedy(100)), one(**without, prompt, greedy(100)), "greedy");
  expect_same(one(**with, prompt, seeded(100)), one(**without, prompt, seeded(100)), "seeded");
  EXPECT_GT((*with)->engine().spec_stats().verified.at(0), 30);
}

// Proposes a known continuation with one wrong token, so that exactly `accept` drafts are accepted.
class ForcedDrafter final : public engine::Drafter {
 public:
  ForcedDrafter(Ids known, std::int64_t accept, std::int64_t vocab)
      : known_(std::move(known)), accept_(accept), vocab_(vocab) {}
  std::vector<engine::Proposal> draft(std::span<const engine::DraftRequest> requests) override {
    std::vector<engine::Proposal> out;
    for (const auto& request : requests) {
      const auto done = static_cast<std::int64_t>(request.sampler->history().generated().size());
      engine::Proposal proposal;
      for (std::int64_t k = 0; k < request.count && done + k < std::ssize(known_); ++k) {
        const std::int32_t token = known_[done + k];
        proposal.tokens.push_back(k == accept_ ? static_cast<std::int32_t>((token + 1) % vocab_) : token);
      }
      out.push_back(std::move(proposal));
    }
    return out;
  }

 private:
  Ids known_;
  std::int64_t accept_;
  std::int64_t vocab_;
};

// Every acceptance count at every phase of groups and rings: the prompt's length shifts the phase, and the run crosses
// the ring of 64 + 9 rows. The best 1,000 log-probabilities of every row are compared bit for bit.
TEST(Speculation, ForcedAcceptanceLeavesTheSameLogits) {
  const Ids prompt = prompt_of("json");
  SamplingParams params = greedy(70);
  params.end_tokens = EndTokens::kIgnore;
  params.logprobs = 1000;
  EngineArgs deep = tiny();
  deep.num_drafts = 8;
  for (std::size_t cut = 0; cut < 4; ++cut) {
    const Ids start(prompt.begin(), prompt.end() - static_cast<std::ptrdiff_t>(cut));
    EngineArgs plain = tiny();
    plain.num_drafts = 0;
    LLM reference = make_llm(plain);
    const Completion expected = one(reference, start, params);
    for (std::int64_t accept = 0; accept <= 8; ++accept) {
      LLM llm = make_llm(deep, std::make_unique<ForcedDrafter>(expected.token_ids, accept, 2048));
      const Completion found = one(llm, start, params);
      expect_same(found, expected, "accept " + std::to_string(accept));
      ASSERT_EQ(found.top_logprobs.size(), expected.top_logprobs.size());
      for (std::size_t i = 0; i < found.top_logprobs.size(); ++i) {
        ASSERT_TRUE(std::ranges::equal(
            found.top_logprobs[i], expected.top_logprobs[i],
            [](const auto& a, const auto& b) { return a.token_id == b.token_id && a.logprob == b.logprob; }))
            << "accept " << accept << " token " << i;
      }
      EXPECT_NEAR(found.timings.mean_accepted_len, static_cast<double>(accept + 1), 1.0);
    }
  }
}

TEST(Speculation, DraftsAreAcceptedAndCounted) {
  LLM llm = make_llm(tiny());
  const Completion found = one(llm, prompt_of("story"), greedy());
  const SpecStats stats = llm.engine().spec_stats();
  EXPECT_GT(found.timings.mean_accepted_len, 2.0);
  EXPECT_EQ(stats.tokens, static_cast<std::int64_t>(found.token_ids.size()) - 1);
  EXPECT_EQ(stats.decode_steps, found.timings.decode_steps);
  EXPECT_GT(stats.acceptance(0), 0.5);
  EXPECT_GE(stats.proposed[4], stats.verified[4]);
}

TEST(Speculation, RejectionModeIsDeterministicAndGreedyEqual) {
  SamplingParams params = seeded();
  params.spec_accept = SpecAccept::kRejection;
  const Ids prompt = prompt_of("story");
  LLM llm = make_llm(tiny());
  expect_same(one(llm, prompt, params), one(llm, prompt, params), "same seed");
  params.temperature = 0;
  SamplingParams coupled = params;
  coupled.spec_accept = SpecAccept::kCoupled;
  expect_same(one(llm, prompt, params), one(llm, prompt, coupled), "greedy");
}

TEST(Logprobs, PromptValuesEqualTeacherForcedDecode) {
  const Ids prompt = prompt_of("json");
  LLM llm = make_llm(tiny());
  SamplingParams params = greedy(1);
  params.prompt_logprobs = PromptLogprobs::kOn;
  const Completion scored = one(llm, prompt, params);
  ASSERT_EQ(scored.prompt_logprobs.size(), prompt.size() - 1);
  SamplingParams forced = greedy(static_cast<std::int64_t>(prompt.size()) - 1);
  forced.golden_token_ids = Ids(prompt.begin() + 1, prompt.end());
  forced.end_tokens = EndTokens::kIgnore;
  const Completion decoded = one(llm, Ids{prompt[0]}, forced);
  EXPECT_EQ(decoded.logprobs, scored.prompt_logprobs);
  params.max_tokens = 0;
  const Completion none = one(llm, prompt, params);
  EXPECT_TRUE(none.token_ids.empty());
  EXPECT_EQ(none.prompt_logprobs, scored.prompt_logprobs);
  EXPECT_EQ(none.finish_reason, FinishReason::kLength);
}

TEST(Logprobs, ProcessedModeFollowsTheRules) {
  LLM llm = make_llm(tiny());
  SamplingParams params = seeded(6);
  params.logprob_mode = LogprobMode::kProcessed;
  params.top_k = 1;
  const Completion found = one(llm, prompt_of("greeting"), params);
  for (const float value : found.logprobs) EXPECT_EQ(value, 0.0F);
}

TEST(Stopping, EndTokenLengthStopStringAndStopToken) {
  LLM llm = make_llm(tiny());
  const Ids prompt = prompt_of("greeting");  // "Good morning! What can I do for you?" and the end token
  const Completion whole = one(llm, prompt, greedy());
  EXPECT_EQ(whole.finish_reason, FinishReason::kStop);
  EXPECT_EQ(whole.stop_reason, "");
  EXPECT_EQ(whole.text, "Good morning! What can I do for you?");
  EXPECT_EQ(whole.token_ids.back(), 1);
  EXPECT_EQ(whole.usage.prompt_tokens, std::ssize(prompt));
  EXPECT_EQ(whole.usage.completion_tokens, std::ssize(whole.token_ids));

  const Completion cut = one(llm, prompt, greedy(4));
  EXPECT_EQ(cut.finish_reason, FinishReason::kLength);
  EXPECT_EQ(cut.token_ids, Ids(whole.token_ids.begin(), whole.token_ids.begin() + 4));

  SamplingParams params = greedy();
  params.stop = {"do for", "zzz"};
  const Completion stopped = one(llm, prompt, params);
  EXPECT_EQ(stopped.finish_reason, FinishReason::kStop);
  EXPECT_EQ(stopped.stop_reason, "do for");
  EXPECT_EQ(stopped.text, "Good morning! What can I ");
  params.stop_text = StopText::kInclude;
  EXPECT_EQ(one(llm, prompt, params).text, "Good morning! What can I do for");

  params = greedy();
  params.stop_token_ids = {whole.token_ids[3]};
  const Completion by_token = one(llm, prompt, params);
  EXPECT_EQ(by_token.token_ids.size(), 4U);
  EXPECT_EQ(by_token.stop_reason, std::to_string(whole.token_ids[3]));

  params = greedy(20);
  params.min_tokens = 15;
  EXPECT_GE(one(llm, prompt, params).token_ids.size(), 15U);
  params = greedy();
  params.bad_words = {"morning"};
  EXPECT_THAT(one(llm, prompt, params).text, ::testing::Not(HasSubstr("morning")));
}

TEST(Choices, EachIsTheSameForAnyNumber) {
  EngineArgs args = tiny();
  args.max_num_seqs = 2;
  LLM llm = make_llm(args);
  SamplingParams params = seeded(24);
  const Completion first = one(llm, prompt_of("story"), params);
  params.num_choices = 3;
  const auto three = *llm.generate(std::vector<Ids>{prompt_of("story")}, params);
  params.num_choices = 2;
  const auto two = *llm.generate(std::vector<Ids>{prompt_of("story")}, params);
  ASSERT_EQ(three.size(), 3U);
  expect_same(three[0], first, "choice 0");
  expect_same(two[1], three[1], "choice 1");
  EXPECT_NE(three[0].token_ids, three[1].token_ids);
  EXPECT_EQ(three[2].choice, 2);
}

TEST(Stream, OneOutputATokenAndStopOnRequest) {
  LLM llm = make_llm(tiny());
  std::string text;
  std::vector<std::int64_t> indices;
  const auto all = *llm.stream(prompt_of("greeting"), greedy(), [&](const RequestOutput& output) {
    text += output.text;
    indices.push_back(output.index);
    return StreamAction::kContinue;
  });
  EXPECT_EQ(text, all[0].text);
  for (std::size_t i = 0; i < indices.size(); ++i) EXPECT_EQ(indices[i], static_cast<std::int64_t>(i));
  SamplingParams params = seeded(200);
  int seen = 0;
  const auto stopped = *llm.stream(prompt_of("greeting"), params, [&](const RequestOutput&) {
    return ++seen == 3 ? StreamAction::kStop : StreamAction::kContinue;
  });
  EXPECT_EQ(stopped[0].finish_reason, FinishReason::kAborted);
  EXPECT_LT(stopped[0].token_ids.size(), 12U);
}

TEST(Requests, ErrorsNameTheThing) {
  LLM llm = make_llm(tiny());
  LLMEngine& engine = llm.engine();
  const auto message = [&](const Ids& prompt, const SamplingParams& params = {}) {
    const auto status = engine.add_request("x", prompt, params);
    EXPECT_FALSE(status);
    return status ? std::string() : status.error().message;
  };
  EXPECT_THAT(message({}), HasSubstr("no tokens"));
  EXPECT_THAT(message({0, 5, 2048}), HasSubstr("prompt token 2 is 2048, accepted: 0 .. 2047"));
  EXPECT_THAT(message({-1}), HasSubstr("prompt token 0 is -1"));
  const std::string too_long = message(Ids(600, 5));
  EXPECT_THAT(too_long, HasSubstr("600"));
  EXPECT_THAT(too_long, HasSubstr("512"));
  EXPECT_THAT(message({0, 2039}), HasSubstr("image"));
  SamplingParams params;
  params.temperature = 3;
  EXPECT_THAT(message({0}, params), HasSubstr("temperature is 3"));
  EXPECT_FALSE(engine.has_unfinished_requests());
  ASSERT_TRUE(engine.add_request("x", Ids{0}, {}));
  EXPECT_THAT(message({0}), HasSubstr("in use"));
  EXPECT_TRUE(engine.abort_request("x"));
  EXPECT_FALSE(engine.abort_request("y"));
  const auto outputs = engine.step();
  ASSERT_EQ(outputs.size(), 1U);
  EXPECT_EQ(outputs[0].finish_reason, FinishReason::kAborted);
  EXPECT_EQ(outputs[0].token_id, -1);
  EXPECT_FALSE(engine.has_unfinished_requests());
}

TEST(Requests, OneFailureLeavesCompanionsAlone) {
  EngineArgs args = tiny();
  args.max_num_seqs = 2;
  LLM llm = make_llm(args);
  const Ids prompt = prompt_of("story");
  const Completion expected = one(llm, prompt, seeded(20));
  SamplingParams impossible = greedy();
  impossible.allowed_token_ids = {1};
  impossible.min_tokens = 1;
  LLMEngine& engine = llm.engine();
  ASSERT_TRUE(engine.add_request("good", prompt, seeded(20)));
  ASSERT_TRUE(engine.add_request("bad", prompt, impossible));
  std::map<std::string, Ids> tokens;
  std::map<std::string, RequestOutput> last;
  while (engine.has_unfinished_requests()) {
    for (const RequestOutput& output : engine.step()) {
      EXPECT_FALSE(last.contains(output.request_id)) << "an output after the last one";
      if (output.token_id >= 0) tokens[output.request_id].push_back(output.token_id);
      if (output.finished) last[output.request_id] = output;
    }
  }
  EXPECT_EQ(last.at("bad").finish_reason, FinishReason::kError);
  EXPECT_THAT(last.at("bad").error->message, HasSubstr("grammar_no_token"));
  EXPECT_EQ(tokens["good"], expected.token_ids);
}

// Requests come and go from other threads while one thread steps; every one ends exactly once.
TEST(Requests, AddedAndAbortedFromOtherThreads) {
  EngineArgs args = tiny();
  args.max_num_seqs = 4;
  LLM llm = make_llm(args);
  LLMEngine& engine = llm.engine();
  const Ids prompt = prompt_of("greeting");
  constexpr int kEach = 10;
  std::vector<std::thread> clients;
  std::atomic<int> left{3};
  for (int t = 0; t < 3; ++t) {
    clients.emplace_back([&, t] {
      for (int i = 0; i < kEach; ++i) {
        const std::string id = std::to_string(t) + "/" + std::to_string(i);
        EXPECT_TRUE(engine.add_request(id, prompt, greedy(12)));
        if (i % 3 == 0) engine.abort_request(id);
      }
      --left;
      engine.wake();
    });
  }
  std::map<std::string, int> ends;
  while (left > 0 || engine.has_unfinished_requests()) {
    engine.wait_for_work(std::chrono::milliseconds(100));
    for (const RequestOutput& output : engine.step()) ends[output.request_id] += output.finished;
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(ends.size(), 3U * kEach);
  for (const auto& [id, count] : ends) EXPECT_EQ(count, 1) << id;
}

TEST(Requests, ContextLimitEndsWithLength) {
  EngineArgs args = tiny();
  args.max_model_len = 24;
  LLM llm = make_llm(args);
  SamplingParams params = seeded(1000);
  const Ids prompt = prompt_of("greeting");
  const Completion found = one(llm, prompt, params);
  EXPECT_EQ(found.finish_reason, FinishReason::kLength);
  EXPECT_EQ(std::ssize(found.token_ids), 24 - std::ssize(prompt));
}

TEST(Requests, SeedsDifferWhenNotGiven) {
  LLM llm = make_llm(tiny());
  SamplingParams params = seeded(4);
  params.seed.reset();
  const auto both = *llm.generate(std::vector<Ids>(2, prompt_of("story")), params);
  EXPECT_NE(both[0].seed, both[1].seed);
  params.seed = both[0].seed;
  expect_same(one(llm, prompt_of("story"), params), both[0], "reported seed");
}

TEST(ComputeLogits, SameBitsForEveryWayAndErrors) {
  EngineArgs args = tiny();
  args.max_num_seqs = 3;
  const engine::LoadedModel loaded = load(args);
  const Ids prompt = prompt_of("json");
  const auto logits = [&](const engine::LogitsRequest& request) {
    const auto result = engine::compute_logits(*loaded.runner, request);
    EXPECT_TRUE(result) << (result ? "" : result.error().to_string());
    const auto values = result->span<float>();
    return std::vector<float>(values.begin(), values.end());
  };
  const auto expected = logits({prompt});
  EXPECT_EQ(expected.size(), prompt.size() * 2048);
  EXPECT_EQ(logits({prompt, 3}), expected);
  EXPECT_EQ(logits({prompt, 0, 5}), expected);
  EXPECT_EQ(logits({prompt, 0, 0}), expected);
  EXPECT_EQ(logits({prompt, 7, 11, {prompt_of("story"), prompt_of("greeting")}}), expected);
  const auto message = [&](const engine::LogitsRequest& request) {
    const auto result = engine::compute_logits(*loaded.runner, request);
    return result ? std::string() : result.error().message;
  };
  EXPECT_THAT(message({}), HasSubstr("empty"));
  EXPECT_THAT(message({{0, 2048}}), HasSubstr("token 1 is 2048"));
  EXPECT_THAT(message({prompt, 0, 4000}), HasSubstr("decode_from is 4000"));
  EXPECT_FALSE(message({prompt, 0, -1, {prompt, prompt, prompt}}).empty());
  EXPECT_EQ(logits({prompt}), expected) << "places come back after an error";
}

TEST(Settings, ErrorsNameTheField) {
  const auto message = [](auto&& change) {
    EngineArgs args = tiny();
    change(args);
    const auto result = engine::resolve(args);
    return result ? std::string() : result.error().message;
  };
  EXPECT_EQ(message([](EngineArgs& a) { a.settings = {{"draw", "cdf"}, {"spec_accept", "rejection"}}; }), "");
  EXPECT_THAT(message([](EngineArgs& a) { a.settings = {{"draw", "dice"}}; }), HasSubstr("gumbel, cdf"));
  EXPECT_THAT(message([](EngineArgs& a) { a.settings = {{"no_such_mode", "1"}}; }), HasSubstr("no_such_mode"));
  EXPECT_THAT(message([](EngineArgs& a) { a.num_drafts = 65; }), HasSubstr("num_drafts"));
  EXPECT_THAT(message([](EngineArgs& a) { a.max_num_seqs = 0; }), HasSubstr("max_num_seqs"));
  EXPECT_THAT(message([](EngineArgs& a) { a.spec_threshold = 0; }), HasSubstr("spec_threshold"));
  EXPECT_THAT(message([](EngineArgs& a) { a.confidence_temperature = {}; }), HasSubstr("confidence_temperature"));
  EngineArgs missing = tiny();
  missing.model = "/no/such/folder";
  const auto result = LLMEngine::create(missing);
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace deepinfer
