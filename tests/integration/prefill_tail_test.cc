// Prefill skipping (model.md 10): with the exact tail every generated token has the bits of the full prefill; a bounded
// tail is another, chunk-independent function; short prompts are untouched.
#include <algorithm>
#include <array>
#include <cmath>
#include <random>

#include <fmt/format.h>

#include "tiny_models.h"

namespace deepinfer::integration {
namespace {

using engine::RunnerOptions;

constexpr std::int64_t kExact = -1;
constexpr std::int64_t kFull = 0;
constexpr std::int64_t kDecoded = 40;  // more than the window of the small models, so every tail row is read and left

struct Case {
  std::string model;
  std::int64_t prompt;
  std::pair<std::int64_t, std::int64_t> image = {0, 0};
};

/// What a prompt leaves behind: logits of its last position and of the decoded rows, and one draft pass after them.
struct Outcome {
  Logits logits;
  Logits drafts;
};

class TailRunner {
 public:
  TailRunner(const Case& what, std::int64_t tail) : case_(what) {
    RunnerOptions options;
    options.modes.prefill_tail = tail;
    options.max_model_len = what.prompt + kDecoded;
    runner_ = make_runner(what.model, options);
    tokens_ = random_tokens(what.model, options.max_model_len, 21);
  }
  std::int64_t tail_start() const { return runner_->tail_start(case_.prompt); }
  std::int64_t vocab() const { return runner_->model().config().vocab_size; }

  Outcome run(std::int64_t chunk) {
    Stream stream(*runner_, tokens_, case_.image);
    stream.sequence().tail_start = tail_start();
    Outcome out;
    while (stream.length() < case_.prompt) {
      const std::int64_t count = std::min(chunk, case_.prompt - stream.length());
      const bool last = stream.length() + count == case_.prompt;
      const auto rows = last ? engine::LogitRows::kLast : engine::LogitRows::kNone;
      const Tensor logits = runner_->prefill(std::array{engine::PrefillItem{&stream.sequence(), count, rows, nullptr}});
      stream.sequence().length += count;
      if (last) out.logits.assign(logits.as<float>(), logits.as<float>() + vocab());
    }
    out.drafts = drafts(stream);
    for (std::int64_t i = 0; i < kDecoded; ++i) {
      const Logits row = stream.decode();
      out.logits.insert(out.logits.end(), row.begin(), row.end());
    }
    return out;
  }

 private:
  Logits drafts(Stream& stream) {
    if (runner_->model().config().dspark_block_size == 0) return {};
    const engine::Sequence* sequence = &stream.sequence();
    const std::int32_t anchor = sequence->tokens[static_cast<std::size_t>(sequence->length)];
    const auto rows = runner_->draft({&sequence, 1}, {&anchor, 1});
    const auto span = rows.raw_logits.span<float>();
    return {span.begin(), span.end()};
  }

  Case case_;
  std::unique_ptr<engine::ModelRunner> runner_;
  std::vector<std::int32_t> tokens_;
};

void expect_same(const Outcome& found, const Outcome& expected, std::int64_t vocab, const std::string& where) {
  EXPECT_TRUE(same_rows(found.logits, expected.logits, 0, vocab)) << where << " (positions count from the last of the prompt)";
  if (expected.drafts.empty()) return;
  EXPECT_TRUE(same_rows(found.drafts, expected.drafts, 0, vocab)) << where << " drafts";
}

/// The smallest exact tail: every layer after the last KV owner needs one window more.
std::int64_t exact_tail(const std::string& name) {
  const auto& config = tiny_model(name)->config();
  return config.sliding_window +
         (config.sliding_window - 1) * (config.num_hidden_layers - 1 - config.kv_source_layer_ids.back());
}

void exact_equals_full(const Case& what, std::vector<std::int64_t> chunks) {
  TailRunner full(what, kFull);
  TailRunner exact(what, kExact);
  ASSERT_EQ(full.tail_start(), 0);
  ASSERT_EQ(exact.tail_start(), std::max<std::int64_t>(0, what.prompt - exact_tail(what.model)));
  const Outcome expected = full.run(what.prompt);
  for (const std::int64_t chunk : chunks) {
    expect_same(exact.run(chunk), expected, full.vocab(), fmt::format("{} chunk {}", what.model, chunk));
  }
}

TEST(PrefillTail, ExactEqualsFullOnMicro) {
  ASSERT_EQ(exact_tail("micro"), 15);
  exact_equals_full({"micro", 150}, {150, 1, 7, 64, 135, 136, 149});
}
TEST(PrefillTail, ExactEqualsFullOnTinyChat) {
  ASSERT_EQ(exact_tail("tiny-chat"), 190);
  exact_equals_full({"tiny-chat", 450}, {450, 128, 260, 261});
}
TEST(PrefillTail, ExactEqualsFullOnTheOtherModels) {
  exact_equals_full({"nosel", 90}, {90, 7});
  exact_equals_full({"ties", 90}, {90, 7});
  exact_equals_full({"geom", 330}, {330, 100});
  exact_equals_full({"wide", 60}, {60, 7});
}
TEST(PrefillTail, ExactEqualsFullAcrossImageSpans) {
  exact_equals_full({"micro", 80, {20, 30}}, {80, 7});
  exact_equals_full({"micro", 80, {60, 70}}, {80, 7, 64});
  exact_equals_full({"micro", 80, {70, 80}}, {80, 3});
}
TEST(PrefillTail, PromptsUpToTheTailAreUnaffected) {
  for (const std::int64_t prompt : {1, 2, 8, 14, 15, 16}) exact_equals_full({"micro", prompt}, {prompt, 3});
}

// W + backtracking (14 and 70) is the smallest bounded tail (model.md 10): less would leave holes that rollback can
// reach. On micro it is exact, see below.
TEST(PrefillTail, BoundedTailIgnoresChunks) {
  for (const auto& [what, tail] : {std::pair{Case{"micro", 150}, 14}, std::pair{Case{"tiny-chat", 300}, 70}}) {
    TailRunner bounded(what, tail);
    ASSERT_EQ(bounded.tail_start(), what.prompt - tail);
    const Outcome expected = bounded.run(what.prompt);
    for (const float value : expected.logits) ASSERT_TRUE(std::isfinite(value));
    for (const std::int64_t chunk : {7, 64, 137}) {
      expect_same(bounded.run(chunk), expected, bounded.vocab(), fmt::format("{} tail {} chunk {}", what.model, tail, chunk));
    }
  }
}

// Sequences of different lengths share prefill steps: some rows of a step belong to tails, others do not, and a short
// prompt has no tail at all. A second turn then goes on behind the answer.
TEST(PrefillTail, CompanionsAndSecondTurn) {
  for (const std::string name : {"micro", "tiny-chat"}) {
    const std::int64_t exact = exact_tail(name);
    const std::vector<std::int64_t> prompts{exact + 100, exact + 13, exact - 5, exact * 3, 3};
    RunnerOptions options;
    options.max_model_len = exact * 2 + 300;
    options.max_num_seqs = static_cast<std::int64_t>(prompts.size());
    const auto runner = make_runner(name, options);
    const std::int64_t vocab = runner->model().config().vocab_size;
    std::vector<Logits> expected;
    for (std::size_t i = 0; i < prompts.size(); ++i) {
      Stream alone(*runner, random_tokens(name, prompts[i] + 80, static_cast<std::uint32_t>(50 + i)));
      expected.push_back(alone.prefill_to(alone.total()));
    }
    std::mt19937 rng(9);
    for (int run = 0; run < 4; ++run) {
      std::vector<std::unique_ptr<Stream>> streams;
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        streams.push_back(std::make_unique<Stream>(*runner, random_tokens(name, prompts[i] + 80, static_cast<std::uint32_t>(50 + i))));
        streams.back()->sequence().tail_start = runner->tail_start(prompts[i]);
      }
      for (;;) {
        std::vector<engine::PrefillItem> items;
        std::vector<std::size_t> done;
        for (std::size_t i = 0; i < prompts.size(); ++i) {
          const std::int64_t left = prompts[i] - streams[i]->length();
          if (left == 0 || rng() % 4 == 0) continue;
          const std::int64_t count = std::min<std::int64_t>(left, rng() % 70 + 1);
          items.push_back({&streams[i]->sequence(), count, count == left ? engine::LogitRows::kLast : engine::LogitRows::kNone, nullptr});
          if (count == left) done.push_back(i);
        }
        if (items.empty()) {
          if (std::ranges::all_of(streams, [&](const auto& s) { return s->length() == s->total() - 80; })) break;
          continue;
        }
        const Tensor rows = runner->prefill(items);
        for (std::size_t k = 0; k < done.size(); ++k) {
          const float* row = rows.as<float>() + static_cast<std::int64_t>(k) * vocab;
          ASSERT_TRUE(same_rows({row, row + vocab}, expected[done[k]], prompts[done[k]] - 1, vocab)) << name << " run " << run;
        }
        for (const engine::PrefillItem& item : items) const_cast<engine::Sequence*>(item.sequence)->length += item.count;
      }
      for (std::size_t i = 0; i < prompts.size(); ++i) {
        Stream& s = *streams[i];
        while (s.length() < prompts[i] + 20) {
          const std::int64_t at = s.length();
          ASSERT_TRUE(same_rows(s.decode(), expected[i], at, vocab)) << name << " sequence " << i;
        }
        ASSERT_TRUE(same_rows(s.prefill(30), expected[i], prompts[i] + 20, vocab)) << name << " second turn " << i;
        ASSERT_TRUE(same_rows(s.decode(), expected[i], prompts[i] + 50, vocab)) << name << " second turn " << i;
      }
    }
  }
}

/// The last KV owner keeps window rows of all tokens, so its own window costs nothing: the tail may be one window shorter
/// than the formula before a bit changes. micro: 8, tiny-chat: 127.
std::int64_t sufficient_tail(const std::string& name) {
  return exact_tail(name) - tiny_model(name)->config().sliding_window + 1;
}
TEST(PrefillTail, TooShortTailsDiffer) {
  for (const Case& what : {Case{"micro", 150}, Case{"tiny-chat", 300}}) {
    const std::int64_t enough = sufficient_tail(what.model);
    TailRunner full(what, kFull);
    const Outcome expected = full.run(what.prompt);
    expect_same(TailRunner(what, enough).run(what.prompt), expected, full.vocab(), what.model);
    EXPECT_FALSE(same_rows(TailRunner(what, enough - 20 < 1 ? 1 : enough - 20).run(what.prompt).logits, expected.logits, 0,
                           full.vocab())) << what.model;
  }
}
TEST(PrefillTail, BoundedTailLeavesShorterPromptsAlone) {
  const Case what{"micro", 14};
  TailRunner bounded(what, 14);
  EXPECT_EQ(bounded.tail_start(), 0);
  TailRunner full(what, kFull);
  expect_same(bounded.run(5), full.run(14), full.vocab(), "prompt of 14");
}

}  // namespace
}  // namespace deepinfer::integration
