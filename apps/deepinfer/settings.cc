#include "settings.h"

#include <algorithm>

#include "base/error.h"
#include "inputs.h"
#include "ops/isa/isa.h"
#include "terminal.h"
#include "tokenizer/fold_map.h"

namespace deepinfer::cli {
namespace {

// Words of a closed list such as "off, whole, regions; empty = ..."; empty for rows that accept other things.
std::vector<std::string> closed_list(std::string_view accepted) {
  accepted = accepted.substr(0, accepted.find(';'));
  std::vector<std::string> words;
  while (!accepted.empty()) {
    const std::size_t comma = std::min(accepted.find(", "), accepted.size());
    words.emplace_back(accepted.substr(0, comma));
    accepted.remove_prefix(std::min(comma + 2, accepted.size()));
  }
  const bool open =
      std::ranges::any_of(words, [](const std::string& word) { return word.find(' ') != std::string::npos; });
  return open || words.size() < 2 ? std::vector<std::string>{} : words;
}

// A word "pjrt:<plugin>" of a list stands for anything with that beginning.
bool listed(const std::vector<std::string>& words, const std::string& value) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    const std::size_t open = word.find('<');
    return open == std::string::npos ? word == value : value.starts_with(word.substr(0, open));
  });
}

void check_integer_row(std::string_view accepted, const std::string& value) {
  // "integer >= 1", "integer 0 .. 64": the bounds that are plain numbers are checked here.
  if (!accepted.starts_with("integer")) return;
  const std::string_view bounds = accepted.substr(std::string_view("integer").size());
  std::int64_t least = 0;
  std::int64_t most = INT64_MAX;
  if (bounds.starts_with(" >= ") && bounds.size() > 4 && bounds[4] >= '0' && bounds[4] <= '9') {
    least = bounds[4] - '0';
  } else if (bounds == " 0 .. 64") {
    least = 0;
    most = 64;
  }
  parse_integer(value, least, most);
}

void check_row(const base::EnvVariable& row, const std::string& value) {
  if (value.empty()) return;
  const std::vector<std::string> words = closed_list(row.accepted);
  if (!words.empty() && !listed(words, value)) usage_error("\"{}\" is not one of {}", value, row.accepted);
  check_integer_row(row.accepted, value);
  if (row.accepted == "bytes") parse_integer(value, 1, INT64_MAX);
  if (row.accepted.starts_with("number >= 1")) parse_number(value, 1, 1e9);
}

std::string short_name(const base::EnvVariable& row) { return std::string(row.name.substr(sizeof("DEEPINFER_") - 1)); }

std::string backend_of_accelerator(const std::string& value) {
  if (value == "cpu") return "host";
  usage_error("\"{}\" is not part of this build yet; accepted: cpu", value);
}
std::string mode_of_neuron(const std::string& value) {
  if (value == "regions") usage_error("\"regions\" is not part of this build yet; accepted: off, whole");
  return value == "off" ? "eager" : "graph";
}
std::string mode_of_eager(const std::string& value) { return value == "1" ? "eager" : "graph"; }

constexpr std::string_view kEngineModes[] = {"draw", "spec_accept", "logprob_mode"};

std::vector<std::string> values_of_engine_mode(std::string_view key) {
  if (key == "draw") return {"gumbel", "cdf"};
  return key == "spec_accept" ? std::vector<std::string>{"coupled", "rejection"}
                              : std::vector<std::string>{"raw", "processed"};
}

void check_setting(const std::string& key, const std::string& value) {
  if (std::ranges::find(kEngineModes, key) != std::end(kEngineModes)) {
    try {
      check_choice(value, {values_of_engine_mode(key)});
    } catch (const UsageError& error) {
      usage_error("--set {}: {}", key, error.what());
    }
    return;
  }
  model::NumericModes scratch;
  const Status status = model::set_mode(scratch, key, value);
  if (status) return;
  const bool unknown = status.error().message.starts_with("mode ");  // the message ends with the names of the modes
  usage_error("--set: {}{}", status.error().message, unknown ? ", draw, spec_accept, logprob_mode" : "");
}

}  // namespace

void check_environment(const base::Environ& env) {
  for (const base::EnvVariable& row : base::env_table()) {
    if (!env.is_set(short_name(row))) continue;
    try {
      check_row(row, env.get(short_name(row)));
    } catch (const UsageError& error) {
      usage_error("{}: {} (accepted: {})", row.name, error.what(), row.accepted);
    }
  }
}

void ModelFlags::define(Arguments& a) {
  a.text("--model", "DIR", "checkpoint folder; default: the bundled tiny-chat", model);
  a.bind("--model", "MODEL");
  a.integer("--threads", "threads, 0 = one per usable core", {0, 1024}, threads);
  a.choice("--isa", "instruction set of the kernels; default: the fastest", {{"scalar", "avx2", "avx512"}, {"neon"}},
           isa);
  a.bind("--isa", "CPU_ISA");
  a.add({"--backend", "host", "device that computes"}, [](const std::string& value) {
    check_choice(value, {{"host"}, {"trn2", "pjrt", "nrt"}});
  });
  a.bind("--backend", "ACCELERATOR", backend_of_accelerator);
  a.choice("--graph-mode", "how decode steps run; default: graph", {{"eager", "graph"}, {"regions"}}, graph_mode);
  a.bind("--graph-mode", "NEURON_GRAPH_MODE", mode_of_neuron);
  a.bind("--graph-mode", "ENFORCE_EAGER", mode_of_eager);
  a.add({"--numerics", "official", "rounding rules"}, [](const std::string& value) {
    check_choice(value, {{"official"}, {"deepinfer"}});
  });
  a.add({"--profile", "ocp448", "numeric profile"}, [](const std::string& value) {
    check_choice(value, {{"ocp448"}, {"host224", "trn2", "trn2_224", "trn2_240", "trn2_nxd"}});
  });
  a.add({"--ep", "1", "expert-parallel ranks"}, [](const std::string& value) {
    if (parse_integer(value, 1, 1024) != 1) usage_error("{} ranks are not part of this build yet; accepted: 1", value);
  });
  a.many("--set", "KEY=VALUE", "a mode switch, e.g. index_scores=fp32, prefill_tail=full, draw=cdf", set);
}

Result<std::string> ModelFlags::folder(const Context& context) const {
  if (!model.empty()) return model;
  return bundled_folder(context.env, "models/tiny-chat");
}

std::vector<std::pair<std::string, std::string>> ModelFlags::settings(const Context& context) const {
  std::vector<std::pair<std::string, std::string>> out;
  if (context.env.get("YOCO_PREFILL_TRUNCATION_MODE") == "compact") {
    const std::string keep = context.env.get("YOCO_PREFILL_KEEP_TOKENS");
    if (parse_integer(keep, 0, INT32_MAX) == 0)
      usage_error("DEEPINFER_YOCO_PREFILL_KEEP_TOKENS: compact needs a number above 0");
    out.emplace_back("prefill_tail", keep);
  }
  for (const std::string& item : set) {
    const std::size_t equals = item.find('=');
    if (equals == std::string::npos) usage_error("--set \"{}\": KEY=VALUE is expected", item);
    check_setting(item.substr(0, equals), item.substr(equals + 1));
    out.emplace_back(item.substr(0, equals), item.substr(equals + 1));
  }
  return out;
}

model::NumericModes ModelFlags::modes(const Context& context) const {
  model::NumericModes out;
  for (const auto& [key, value] : settings(context)) {
    if (std::ranges::find(kEngineModes, key) == std::end(kEngineModes)) expect_usage(model::set_mode(out, key, value));
  }
  return out;
}

engine::RunnerOptions ModelFlags::runner_options(const Context& context) const {
  engine::RunnerOptions out;
  out.num_threads = static_cast<int>(threads);
  out.cpu_isa = isa;
  out.modes = modes(context);
  out.graph_mode = graph_mode == "eager" ? decltype(out.graph_mode)::kEager : decltype(out.graph_mode)::kGraph;
  out.batch_size_interval = parse_integer(context.env.get("CUDAGRAPH_BATCH_SIZE_INTERVAL"), 1, INT32_MAX);
  return out;
}

Result<LoadedRunner> load_weights(const std::string& folder) {
  const double start = now_s();
  LoadedRunner out;
  DI_ASSIGN(tokenizer::Tokenizer tokenizer, load_tokenizer(folder));
  out.tokenizer = std::make_shared<const tokenizer::Tokenizer>(std::move(tokenizer));
  DI_ASSIGN(out.model, model::deepseek_v41::Model::load(folder, tokenizer::fold_map(*out.tokenizer)));
  out.load_s = now_s() - start;
  return out;
}

Status start_runner(LoadedRunner& loaded, const engine::RunnerOptions& options) {
  const double start = now_s();
  DI_ASSIGN(loaded.runner, engine::ModelRunner::create(loaded.model, options));
  loaded.load_s += now_s() - start;
  return {};
}

}  // namespace deepinfer::cli
