// Logits of a position depend on the tokens of its own sequence up to there and on nothing else (numerics.md 11):
// not on companions and their order, chunks, prefill or decode, batch padding, threads or instruction set.
#include <algorithm>
#include <map>
#include <random>

#include <fmt/format.h>

#include "ops/isa/isa.h"
#include "tiny_models.h"

namespace deepinfer::integration {
namespace {

using engine::GraphMode;
using engine::RunnerOptions;

constexpr std::int64_t kLength = 140;
constexpr std::uint32_t kSeed = 7;

std::int64_t vocab_of(const std::string& name) { return tiny_model(name)->config().vocab_size; }

/// All logits of random_tokens(name, kLength, seed), computed alone by single-row eager decode steps of the scalar
/// kernels on one thread: the plainest form there is.
const Logits& reference(const std::string& name, std::uint32_t seed = kSeed) {
  static std::map<std::pair<std::string, std::uint32_t>, Logits> known;
  Logits& rows = known[{name, seed}];
  if (!rows.empty()) return rows;
  RunnerOptions options;
  options.graph_mode = GraphMode::kEager;
  options.num_threads = 1;
  options.cpu_isa = "scalar";
  options.max_model_len = kLength;
  const auto runner = make_runner(name, options);
  Stream stream(*runner, random_tokens(name, kLength, seed));
  while (stream.length() < kLength) {
    const Logits row = stream.decode();
    rows.insert(rows.end(), row.begin(), row.end());
  }
  return rows;
}

class Invariance : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tiny, Invariance, ::testing::Values("micro", "nosel", "ties", "geom", "wide", "tiny-chat"));

/// Runs `num_streams` sequences to their ends by steps over random subsets in random order, each with a random share:
/// prefill chunks of up to 40 tokens or decode chunks of an anchor and drafts, and compares every row with the reference.
void run_companions(engine::ModelRunner& runner, const std::string& name, std::mt19937& rng, std::uint32_t num_streams) {
  const auto upto = [&](std::int64_t n) { return static_cast<std::int64_t>(rng() % static_cast<std::uint32_t>(n)) + 1; };
  std::vector<std::unique_ptr<Stream>> streams;
  std::vector<std::uint32_t> seeds;
  std::vector<std::int64_t> ends;
  for (std::uint32_t i = 0; i < num_streams; ++i) {
    seeds.push_back(kSeed + rng() % 9);
    ends.push_back(20 + upto(kLength - 20));
    streams.push_back(std::make_unique<Stream>(runner, random_tokens(name, kLength, seeds.back())));
  }
  std::vector<std::size_t> active(num_streams);
  for (std::size_t i = 0; i < active.size(); ++i) active[i] = i;
  while (!active.empty()) {
    std::shuffle(active.begin(), active.end(), rng);
    const std::vector<std::size_t> chosen(active.begin(), active.begin() + upto(static_cast<std::int64_t>(active.size())));
    const bool prefill = rng() % 2 == 0;
    std::vector<engine::PrefillItem> chunks;
    std::vector<engine::DecodeItem> rows;
    for (const std::size_t i : chosen) {
      const std::int64_t count = std::min(upto(prefill ? 40 : runner.layout().max_rows_per_step()), ends[i] - streams[i]->length());
      chunks.push_back({&streams[i]->sequence(), count, engine::LogitRows::kAll, nullptr});
      rows.push_back({&streams[i]->sequence(), count});
    }
    const Tensor logits = prefill ? runner.prefill(chunks) : runner.decode(rows).value();
    const float* at = logits.as<float>();
    for (std::size_t k = 0; k < chosen.size(); ++k) {
      Stream& stream = *streams[chosen[k]];
      const std::int64_t size = rows[k].count * vocab_of(name);
      ASSERT_TRUE(same_rows(Logits(at, at + size), reference(name, seeds[chosen[k]]), stream.length(), vocab_of(name)))
          << name << " sequence " << seeds[chosen[k]] << (prefill ? " prefill" : " decode") << " with "
          << chosen.size() - 1 << " companions";
      at += size;
      stream.sequence().length += rows[k].count;
    }
    std::erase_if(active, [&](std::size_t i) { return streams[i]->length() == ends[i]; });
  }
}

void companion_runs(const std::string& name, int runs) {
  RunnerOptions options;
  options.max_model_len = kLength;
  options.max_num_seqs = 9;
  const auto runner = make_runner(name, options);
  std::mt19937 rng(11);
  for (int run = 0; run < runs && !::testing::Test::HasFatalFailure(); ++run) {
    run_companions(*runner, name, rng, 2 + rng() % 8);
  }
}

TEST_P(Invariance, CompanionsInRandomOrder) { companion_runs(GetParam(), 2); }
TEST_P(Invariance, DISABLED_NightlyCompanions) { companion_runs(GetParam(), 84); }  // 504 runs on the six models

void prompt_lengths(const std::string& name, std::int64_t step) {
  RunnerOptions options;
  options.max_model_len = kLength;
  const auto runner = make_runner(name, options);
  for (std::int64_t n = 1; n <= 130; n += n < 20 ? 1 : step) {
    Stream stream(*runner, random_tokens(name, kLength, kSeed));
    const engine::PrefillItem item{&stream.sequence(), n, engine::LogitRows::kLast, nullptr};
    const Tensor last = runner->prefill({&item, 1});
    stream.sequence().length = n;
    ASSERT_TRUE(same_rows({last.as<float>(), last.as<float>() + vocab_of(name)}, reference(name), n - 1, vocab_of(name)));
    ASSERT_TRUE(same_rows(stream.decode(), reference(name), n, vocab_of(name))) << name << " after a prompt of " << n;
    const std::int64_t rows = std::min<std::int64_t>(2, runner->layout().max_rows_per_step());
    ASSERT_TRUE(same_rows(stream.decode(rows), reference(name), n + 1, vocab_of(name))) << name << " after a prompt of " << n;
  }
}

TEST_P(Invariance, PromptLengths) { prompt_lengths(GetParam(), 11); }
TEST_P(Invariance, DISABLED_NightlyPromptLengths) { prompt_lengths(GetParam(), 1); }

/// Prefill of the first `prompt` tokens in chunks, then decode in chunks of at most `rows`.
void run_all(const std::string& name, const RunnerOptions& base, std::int64_t chunk, std::int64_t prompt, std::int64_t rows) {
  RunnerOptions options = base;
  options.max_model_len = kLength;
  const auto runner = make_runner(name, options);
  Stream stream(*runner, random_tokens(name, kLength, kSeed));
  const std::string where = fmt::format("{} isa={} threads={} chunk={} prompt={} rows={}", name, options.cpu_isa,
                                        options.num_threads, chunk, prompt, rows);
  ASSERT_TRUE(same_rows(stream.prefill_to(prompt, chunk), reference(name), 0, vocab_of(name))) << where;
  rows = std::min(rows, runner->layout().max_rows_per_step());
  while (stream.length() < kLength) {
    const std::int64_t at = stream.length();
    ASSERT_TRUE(same_rows(stream.decode(std::min(rows, kLength - at)), reference(name), at, vocab_of(name))) << where;
  }
}

TEST_P(Invariance, ChunkSizes) {
  for (const auto& [chunk, prompt, rows] : {std::tuple{1, 30, 1}, std::tuple{3, 61, 2}, std::tuple{7, 130, 3},
                                            std::tuple{64, 100, 4}, std::tuple{0, 137, 5}, std::tuple{8, 88, 6}}) {
    run_all(GetParam(), {}, chunk, prompt, rows);
  }
}

void run_on(const std::string& name, const isa::Kernels& kernels, int threads, GraphMode mode) {
  RunnerOptions options;
  options.num_threads = threads;
  options.cpu_isa = kernels.name;
  options.graph_mode = mode;
  run_all(name, options, 33, 120, threads);
}

TEST_P(Invariance, ThreadsAndInstructionSets) {
  int turn = 0;
  for (const isa::Kernels* kernels : isa::available()) {
    for (const GraphMode mode : {GraphMode::kGraph, GraphMode::kEager}) {
      run_on(GetParam(), *kernels, turn++ % 3 + 1, mode);
    }
  }
}
TEST_P(Invariance, DISABLED_NightlyThreadsAndInstructionSets) {
  for (const isa::Kernels* kernels : isa::available()) {
    for (const int threads : {1, 2, 3}) {
      for (const GraphMode mode : {GraphMode::kGraph, GraphMode::kEager}) run_on(GetParam(), *kernels, threads, mode);
    }
  }
}

// A sequence with an image span and one without share steps; neither sees the other, however the chunks cut the span.
TEST(InvarianceImages, SpansInChunksAndBesideText) {
  RunnerOptions options;
  options.max_model_len = kLength;
  options.max_num_seqs = 2;
  const auto runner = make_runner("micro", options);
  const std::int64_t vocab = vocab_of("micro");
  const auto tokens = random_tokens("micro", kLength, 77);
  const std::pair<std::int64_t, std::int64_t> span{21, 40};
  Stream whole(*runner, tokens, span);
  const Logits expected = whole.prefill_to(kLength);
  EXPECT_FALSE(same_rows(Stream(*runner, tokens).prefill_to(kLength), expected, 0, vocab));  // the span matters
  runner->close_sequence(whole.sequence());
  for (const std::int64_t chunk : {1, 4, 19, 33}) {
    Stream image(*runner, tokens, span);
    Stream text(*runner, random_tokens("micro", kLength, kSeed));
    while (image.length() < 66) {
      const std::int64_t at = image.length();
      const engine::PrefillItem items[] = {{&text.sequence(), chunk, engine::LogitRows::kAll, nullptr},
                                           {&image.sequence(), chunk, engine::LogitRows::kAll, nullptr}};
      const Tensor rows = runner->prefill(items);
      const float* both = rows.as<float>();
      ASSERT_TRUE(same_rows({both, both + chunk * vocab}, reference("micro"), at, vocab)) << "text, chunk " << chunk;
      ASSERT_TRUE(same_rows({both + chunk * vocab, both + 2 * chunk * vocab}, expected, at, vocab)) << "chunk " << chunk;
      text.sequence().length = image.sequence().length = at + chunk;
    }
    for (int i = 0; i < 20; ++i) {
      const std::int64_t at = image.length();
      const engine::DecodeItem items[] = {{&image.sequence(), 2}, {&text.sequence(), 2}};
      const Tensor rows = runner->decode(items).value();
      const float* both = rows.as<float>();
      ASSERT_TRUE(same_rows({both, both + 2 * vocab}, expected, at, vocab)) << "decode at " << at;
      ASSERT_TRUE(same_rows({both + 2 * vocab, both + 4 * vocab}, reference("micro"), at, vocab)) << "text, decode at " << at;
      text.sequence().length = image.sequence().length = at + 2;
    }
  }
}

// Every mode is a function of its own with the same contract.
TEST(InvarianceModes, ChunksAndDecodeInEveryMode) {
  for (const auto& [key, value] : {std::pair{"index_scores", "fp32"}, std::pair{"index_scores", "bf16_fma4"},
                                   std::pair{"fp8_order", "reference_blocks"}}) {
    RunnerOptions options;
    options.max_model_len = kLength;
    const Status known = model::set_mode(options.modes, key, value);
    ASSERT_TRUE(known.has_value()) << known.error().to_string();
    const auto runner = make_runner("micro", options);
    Stream whole(*runner, random_tokens("micro", kLength, kSeed));
    const Logits expected = whole.prefill_to(kLength);
    runner->close_sequence(whole.sequence());
    Stream cut(*runner, random_tokens("micro", kLength, kSeed));
    EXPECT_TRUE(same_rows(cut.prefill_to(50, 7), expected, 0, vocab_of("micro"))) << key << "=" << value;
    while (cut.length() < 130) {
      const std::int64_t at = cut.length();
      ASSERT_TRUE(same_rows(cut.decode(1 + at % 6), expected, at, vocab_of("micro"))) << key << "=" << value;
    }
  }
}

// The comparison itself must be able to fail: one other token changes every later row and no earlier one.
TEST(InvarianceControl, AnotherTokenIsNoticed) {
  RunnerOptions options;
  options.max_model_len = kLength;
  const auto runner = make_runner("micro", options);
  Stream stream(*runner, random_tokens("micro", kLength, kSeed));
  stream.set_token(50, stream.sequence().tokens[50] ^ 1);
  EXPECT_TRUE(same_rows(stream.prefill(50), reference("micro"), 0, vocab_of("micro")));
  EXPECT_FALSE(same_rows(stream.decode(), reference("micro"), 50, vocab_of("micro")));
  EXPECT_FALSE(same_rows(stream.decode(), reference("micro"), 51, vocab_of("micro")));
}

}  // namespace
}  // namespace deepinfer::integration
