#include "engine/load.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "tokenizer/fold_map.h"

namespace deepinfer::engine {

namespace v41 = model::deepseek_v41;

namespace {

constexpr std::int64_t kDefaultModelLen = 4096;
constexpr std::int64_t kMaxDrafts = 64;

template <typename T>
Status set_word(T& field, std::string_view key, std::string_view value,
                std::initializer_list<std::pair<std::string_view, T>> accepted) {
  std::string names;
  for (const auto& [name, choice] : accepted) {
    if (name == value) {
      field = choice;
      return {};
    }
    names += (names.empty() ? "" : ", ") + std::string(name);
  }
  return errorf(ErrorCode::kInvalidArgument, "{} is \"{}\", accepted: {}", key, value, names);
}

// Whether the setting belongs to the sampler.
Result<bool> take_setting(EngineArgs& args, std::string_view key, std::string_view value) {
  if (key == "draw") {
    DI_TRY(set_word<Draw>(args.draw, key, value, {{"gumbel", Draw::kGumbel}, {"cdf", Draw::kCdf}}));
  } else if (key == "spec_accept") {
    DI_TRY(set_word<SpecAccept>(args.spec_accept, key, value,
                                {{"coupled", SpecAccept::kCoupled}, {"rejection", SpecAccept::kRejection}}));
  } else if (key == "logprob_mode") {
    DI_TRY(set_word<LogprobMode>(args.logprob_mode, key, value,
                                 {{"raw", LogprobMode::kRaw}, {"processed", LogprobMode::kProcessed}}));
  } else {
    return false;
  }
  return true;
}

Status check_fields(const EngineArgs& args) {
  const auto at_least = [](std::string_view field, std::int64_t value, std::int64_t least) -> Status {
    if (value >= least) return {};
    return errorf(ErrorCode::kInvalidArgument, "{} is {}, accepted: {} and more", field, value, least);
  };
  DI_TRY(at_least("num_threads", args.num_threads, 0));
  DI_TRY(at_least("max_model_len", args.max_model_len, 0));
  DI_TRY(at_least("max_num_seqs", args.max_num_seqs, 1));
  DI_TRY(at_least("prefill_chunk", args.prefill_chunk, 0));
  DI_TRY(at_least("batch_size_interval", args.batch_size_interval, 1));
  if (args.num_drafts < 0 || args.num_drafts > kMaxDrafts) {
    return errorf(ErrorCode::kInvalidArgument, "num_drafts is {}, accepted: 0 .. {}", args.num_drafts, kMaxDrafts);
  }
  if (!(args.spec_threshold > 0 && args.spec_threshold <= 1)) {
    return errorf(ErrorCode::kInvalidArgument, "spec_threshold is {}, accepted: (0, 1]", args.spec_threshold);
  }
  const auto& temperature = args.confidence_temperature;
  if (temperature.empty() || !std::ranges::all_of(temperature, [](double t) { return t > 0; })) {
    return errorf(ErrorCode::kInvalidArgument, "confidence_temperature needs one value or one a draft, each above 0");
  }
  return {};
}

}  // namespace

Result<EngineArgs> resolve(EngineArgs args) {
  std::vector<std::pair<std::string, std::string>> left;
  for (auto& [key, value] : args.settings) {
    DI_ASSIGN(const bool taken, take_setting(args, key, value));
    if (!taken) left.emplace_back(key, value);
  }
  args.settings = std::move(left);
  DI_TRY(check_fields(args));
  DI_TRY(numeric_modes(args));
  return args;
}

Result<model::NumericModes> numeric_modes(const EngineArgs& args) {
  model::NumericModes modes;
  for (const auto& [key, value] : args.settings) DI_TRY(model::set_mode(modes, key, value));
  return modes;
}

Result<std::unique_ptr<ModelRunner>> make_runner(std::shared_ptr<const v41::Model> model, const EngineArgs& args) {
  const checkpoint::ModelConfig& config = model->config();
  RunnerOptions options;
  options.num_threads = args.num_threads;
  options.cpu_isa = args.cpu_isa;
  DI_ASSIGN(options.modes, numeric_modes(args));
  options.graph_mode = args.graph_mode == deepinfer::GraphMode::kEager ? GraphMode::kEager : GraphMode::kGraph;
  options.max_model_len =
      args.max_model_len > 0 ? args.max_model_len : std::min(kDefaultModelLen, config.max_position_embeddings);
  options.max_num_seqs = args.max_num_seqs;
  options.num_drafts = args.num_drafts;
  options.batch_size_interval = args.batch_size_interval;
  // A shorter tail would leave ring records that a verification may look at uncomputed (model.md 10).
  const std::int64_t shortest = config.sliding_window + args.num_drafts + 1;
  if (options.modes.prefill_tail > 0 && options.modes.prefill_tail < shortest) {
    return errorf(ErrorCode::kInvalidArgument, "prefill_tail {} is below window + backtracking = {}",
                  options.modes.prefill_tail, shortest);
  }
  return ModelRunner::create(std::move(model), options);
}

Result<LoadedModel> load_model(const EngineArgs& given, const ProgressFn& progress) {
  const auto begin = std::chrono::steady_clock::now();
  const auto report = [&](std::string_view stage, double done) {
    if (progress) progress(stage, done);
  };
  DI_ASSIGN(const EngineArgs args, resolve(given));
  LoadedModel out;
  report("tokenizer", 0);
  DI_ASSIGN(auto tokenizer, tokenizer::Tokenizer::from_file(args.model + "/tokenizer.json"));
  out.tokenizer = std::make_shared<const tokenizer::Tokenizer>(std::move(tokenizer));
  report("weights", 0.1);
  DI_ASSIGN(out.model, v41::Model::load(args.model, tokenizer::fold_map(*out.tokenizer)));
  report("caches and graphs", 0.8);
  DI_ASSIGN(out.runner, make_runner(out.model, args));
  out.load_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  report("ready", 1);
  return out;
}

}  // namespace deepinfer::engine
