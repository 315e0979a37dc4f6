// Cost of one row of the released vocabulary (129,280 ids) through the sampler.
#include <benchmark/benchmark.h>

#include <random>
#include <vector>

#include "engine/sampling/logprobs.h"
#include "engine/sampling/sampler.h"

namespace deepinfer::engine {
namespace {

// Logits like those of a language model: a few high ones over a broad normal bulk.
std::vector<float> row() {
  std::mt19937 random(1);
  std::normal_distribution<float> bulk(-2, 2.5F);
  std::vector<float> out(129'280);
  for (float& l : out) l = bulk(random);
  for (int i = 0; i < 20; ++i) out[random() % out.size()] = 18 - static_cast<float>(i) / 2;
  return out;
}

void run(benchmark::State& state, const SamplingParams& params, Draw draw) {
  const std::vector<float> logits = row();
  SamplingRules rules;
  rules.params = params;
  rules.draw = draw;
  Sampler sampler(rules, std::vector<std::int32_t>{0}, 7);
  for (auto _ : state) {
    const auto token = sampler.choose(*sampler.process(logits));
    benchmark::DoNotOptimize(token);
    sampler.history().push(token);
  }
}

SamplingParams with(double temperature, double top_p, std::int64_t top_k) {
  SamplingParams params;
  params.temperature = temperature;
  params.top_p = top_p;
  params.top_k = top_k;
  return params;
}

void greedy(benchmark::State& state) { run(state, with(0, 1, -1), Draw::kGumbel); }
void gumbel(benchmark::State& state) { run(state, with(1, 1, -1), Draw::kGumbel); }
void cdf(benchmark::State& state) { run(state, with(1, 1, -1), Draw::kCdf); }
void gumbel_top_p(benchmark::State& state) { run(state, with(0.6, 0.95, -1), Draw::kGumbel); }
void gumbel_top_k(benchmark::State& state) { run(state, with(0.6, 1, 50), Draw::kGumbel); }
void top_logprobs(benchmark::State& state) {
  const std::vector<float> logits = row();
  for (auto _ : state) benchmark::DoNotOptimize(LogSoftmax(logits).top(20));
}
BENCHMARK(greedy);
BENCHMARK(gumbel);
BENCHMARK(cdf);
BENCHMARK(gumbel_top_p);
BENCHMARK(gumbel_top_k);
BENCHMARK(top_logprobs);

}  // namespace
}  // namespace deepinfer::engine
