// Decode steps at the released layer geometry (hidden 5120, 64 heads of 512, expert width 2304) on seeded weights:
// time of a layer, and what the planned executor adds to the bare kernels. The gate is 1 % (docs/decisions/0002).
//
//   layer_overhead [threads]
//
// Layers, experts and vocabulary are few so that the weights fit a small machine; sizes inside a layer are the real
// ones.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "device/host/host_executable.h"
#include "engine/graph_runner.h"
#include "engine/model_runner.h"

namespace {

using namespace deepinfer;  // NOLINT: a program, not a header
using Clock = std::chrono::steady_clock;

checkpoint::ModelConfig small_released() {
  checkpoint::ModelConfig config = checkpoint::released_config();
  config.num_hidden_layers = 5;
  config.vocab_size = 2048;
  config.compress_ratios = {0, 2, 2, 1, 1};
  config.kv_source_layer_ids = {1, 3};
  config.index_source_layer_ids = {1, 3, 4};
  config.candidate_source_layer_id = 3;
  config.engram_layer_ids = {};
  config.engram_num_embeddings = {};
  config.n_routed_experts = 16;
  config.num_nextn_predict_layers = 0;
  config.dspark_target_layer_ids = {};
  config.image_token_id = 7;
  config.vision.reset();
  return config;
}

double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

template <typename T>
T unwrap(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  return std::move(*result);
}

}  // namespace

int main(int argc, char** argv) {
  auto checkpoint = unwrap(checkpoint::Checkpoint::dummy(small_released(), 1));
  auto model = unwrap(model::deepseek_v41::Model::make(std::move(checkpoint), {}));
  engine::RunnerOptions options;
  options.num_threads = argc > 1 ? std::atoi(argv[1]) : 0;
  options.max_model_len = 4096;
  options.num_drafts = 0;
  auto runner = unwrap(engine::ModelRunner::create(model, options));
  engine::Sequence sequence = unwrap(runner->open_sequence());
  constexpr int kPrompt = 256;
  for (int i = 0; i < kPrompt + 64; ++i) runner->append_token(sequence, 3 + i % 2000);
  if (!runner->reserve(sequence, kPrompt + 64)) return 1;
  const engine::PrefillItem item{&sequence, kPrompt, engine::LogitRows::kNone, nullptr};
  const auto before = Clock::now();
  runner->prefill({&item, 1});
  std::printf("prefill %d tokens: %.1f ms\n", kPrompt,
              std::chrono::duration<double, std::milli>(Clock::now() - before).count());
  sequence.length = kPrompt;

  auto executable = unwrap(device::HostExecutable::compile(engine::trace_decode(*runner, 1), runner->kernel_context(),
                                                           device::RunChecks::kOff));
  if (!executable->bind(runner->bindings({}))) return 1;
  std::vector<double> wall;
  std::vector<double> kernels;
  for (int step = 0; step < 20; ++step) {
    const engine::DecodeItem row{&sequence, 1};
    const engine::PreparedStep prepared = engine::prepare_decode(runner->step_context(), {&row, 1}, 1);
    for (const auto& [name, tensor] : prepared.inputs.all()) {
      const TensorRef to = executable->input(name);
      if (to.data != nullptr)
        std::copy_n(static_cast<const std::byte*>(tensor.data()), tensor.type().bytes(),
                    static_cast<std::byte*>(to.data));
    }
    const auto start = Clock::now();
    if (!executable->run()) return 1;
    wall.push_back(std::chrono::duration<double, std::milli>(Clock::now() - start).count());
    executable->start_profile();
    if (!executable->run()) return 1;
    double sum = 0;
    for (const device::NodeProfile& node : executable->profile()) sum += static_cast<double>(node.wall_ns) * 1e-6;
    kernels.push_back(sum);
    ++sequence.length;
  }
  const auto num_nodes = executable->graph().nodes.size();
  const double step_ms = median(wall);
  std::printf("decode step: %.2f ms for 5 layers and head, %.2f ms a layer, %zu nodes, threads %d\n", step_ms,
              step_ms / 5, num_nodes, options.num_threads);
  std::printf("bare kernels: %.2f ms\n", median(kernels));
  std::fputs(executable->profile_csv().c_str(), stderr);
  return 0;
}
