// `deepinfer doctor`: will a checkpoint work on this machine, and how fast.
#include <filesystem>

#include "action.h"
#include "base/error.h"
#include "checkpoint/inspect.h"
#include "inputs.h"
#include "kv/cache_layout.h"
#include "machine.h"
#include "ops/isa/isa.h"
#include "settings.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

using base::Json;

// A token never runs at the measured read bandwidth alone; the floor of kernels.md for whole steps.
constexpr double kBandwidthShare = 0.7;
constexpr std::int64_t kBlockSize = 128;

struct Finding {
  std::string verdict;  ///< "fits", "fits with streaming", "does not fit"
  std::string reason;
};

class Doctor : public Action {
 public:
  void define(Arguments& a) override {
    model_.define(a);
    a.integer("--max-model-len", "context to plan for", {1, INT32_MAX}, max_model_len_);
    a.flag("--json", "one object", json_);
    a.examples("  deepinfer doctor\n  deepinfer doctor --model DIR --max-model-len 32768 --json\n");
  }

  Result<int> run(const Context& context) override {
    measure_machine();
    DI_ASSIGN(folder_, model_.folder(context));
    auto opened = checkpoint::Checkpoint::open(folder_);
    const Status status = opened ? plan(*opened) : Status(tl::unexpected(opened.error()));
    if (!status) finding_ = {"does not fit", "the checkpoint cannot be used: " + status.error().to_string()};
    json_ ? print_json(json_report(opened.has_value())) : print_report(opened.has_value());
    if (!status) return exit_code_of(status.error().code);
    return finding_.verdict == "does not fit" ? 1 : 0;
  }

 private:
  void measure_machine() {
    cpu_ = cpu_info();
    memory_ = checkpoint::allowed_memory_bytes();
    base::ThreadPool pool(static_cast<int>(model_.threads));
    threads_ = pool.num_threads();
    const std::int64_t buffer =
        std::min<std::int64_t>(std::int64_t{256} << 20, std::max<std::int64_t>(memory_ / 16, 1 << 20));
    read_rate_ = read_bandwidth(pool, buffer);
    copy_rate_ = copy_bandwidth(pool, buffer);
    for (const isa::Kernels* kernels : isa::available()) isas_.emplace_back(kernels->name);
  }

  Status plan(const checkpoint::Checkpoint& opened) {
    const checkpoint::ModelConfig& config = opened.config();
    DI_ASSIGN(const checkpoint::Inspection found, checkpoint::inspect(opened));
    plan_ = found.plan;
    tensors_ = static_cast<std::int64_t>(found.tensors.size());
    for (const auto& file : found.files) file_bytes_ += file.bytes;
    const std::int64_t length = std::min(max_model_len_, config.max_position_embeddings);
    const std::int64_t drafts = config.num_nextn_predict_layers > 0 ? config.dspark_block_size : 0;
    const kv::CacheLayout layout(config, {.block_size = kBlockSize,
                                          .backtracking = drafts + 1,
                                          .num_blocks = (length + drafts + kBlockSize) / kBlockSize + 1,
                                          .num_state_slots = 2});
    cache_bytes_ = layout.blocks_type().bytes() + layout.states_type().bytes();
    cost_ = token_cost(config);
    if (!found.files.empty()) {
      DI_ASSIGN(disk_rate_, disk_rate(found.files.front().path, std::int64_t{64} << 20));
    }
    judge();
    return {};
  }

  void judge() {
    const double needed = static_cast<double>(plan_.resident_bytes + plan_.copied_bytes + cache_bytes_);
    const double all = needed + static_cast<double>(plan_.mapped_bytes);
    const auto budget = static_cast<double>(plan_.budget_bytes);
    seconds_ = cost_.bytes() / (kBandwidthShare * read_rate_);
    if (all <= budget) {
      finding_ = {"fits", fmt::format("{} of {} (3/4 of the allowed memory)", human_bytes(all), human_bytes(budget))};
    } else if (needed <= budget) {
      // Experts that are not in the page cache come from disk; the cached share is what memory leaves for them.
      const double cached = std::max(0.0, budget - needed) / static_cast<double>(plan_.mapped_bytes);
      if (disk_rate_ > 0) seconds_ += (1 - cached) * cost_.expert_bytes / disk_rate_;
      finding_ = {"fits with streaming",
                  fmt::format("{} are paged from disk, {:.0f} % of them stay in memory",
                              human_bytes(static_cast<double>(plan_.mapped_bytes)), 100 * cached)};
    } else {
      finding_ = {"does not fit", fmt::format("{} are read at every step, {} are allowed: {} too much",
                                              human_bytes(needed), human_bytes(budget), human_bytes(needed - budget))};
    }
  }

  double tokens_per_s() const { return seconds_ > 0 ? 1 / seconds_ : 0; }

  std::string assumptions() const {
    return fmt::format("one sequence, no drafts, context {}, {} a token at {:.0f} % of the measured read bandwidth",
                       max_model_len_, human_bytes(cost_.bytes()), 100 * kBandwidthShare);
  }

  void print_report(bool opened) const {
    std::vector<std::vector<std::string>> rows{
        {"processor", cpu_.name.empty() ? "unknown" : cpu_.name},
        {"features", join(cpu_.features, " ")},
        {"kernels", join(isas_) + (model_.isa.empty() ? " (the last one is used)" : "")},
        {"cores", fmt::format("{} usable, {} physical in the machine, {} NUMA node{}", cpu_.logical, cpu_.physical,
                              cpu_.numa_nodes, cpu_.numa_nodes > 1 ? "s" : "")},
        {"memory", human_bytes(static_cast<double>(memory_)) + " allowed (machine and control group)"},
        {"bandwidth", fmt::format("read {}/s, copy {}/s with {} threads", human_bytes(read_rate_),
                                  human_bytes(copy_rate_), threads_)},
        {"checkpoint", folder_},
    };
    if (opened) {
      rows.push_back({"tensors", fmt::format("complete: {} tensors, {} in files", tensors_,
                                             human_bytes(static_cast<double>(file_bytes_)))});
      rows.push_back({"disk", fmt::format("{}/s", human_bytes(disk_rate_))});
      rows.push_back(
          {"resident", fmt::format("weights {}, caches {}, paged on demand {}",
                                   human_bytes(static_cast<double>(plan_.resident_bytes + plan_.copied_bytes)),
                                   human_bytes(static_cast<double>(cache_bytes_)),
                                   human_bytes(static_cast<double>(plan_.mapped_bytes)))});
      rows.push_back({"speed", fmt::format("about {:.4g} tokens/s ({})", tokens_per_s(), assumptions())});
    }
    rows.push_back({"devices", "host; no accelerator back end in this build, so no plugin was looked for"});
    print(table(rows));
    const Ink ink = finding_.verdict == "does not fit" ? Ink::kRed : Ink::kGreen;
    printf_line("\n{}: {}", inked(ink, "verdict: " + finding_.verdict), finding_.reason);
  }

  Json json_report(bool opened) const {
    Json features = Json::array();
    for (const std::string& word : cpu_.features) features.push(word);
    Json isas = Json::array();
    for (const std::string& word : isas_) isas.push(word);
    Json out = Json(Json::Object{{"verdict", finding_.verdict}, {"reason", finding_.reason}, {"model", folder_}});
    out.set("cpu", Json(Json::Object{{"name", cpu_.name},
                                     {"features", std::move(features)},
                                     {"isa", std::move(isas)},
                                     {"usable_cores", cpu_.logical},
                                     {"physical_cores", cpu_.physical},
                                     {"numa_nodes", cpu_.numa_nodes}}));
    out.set("memory_bytes", memory_).set("threads", threads_);
    out.set("read_bytes_per_s", read_rate_).set("copy_bytes_per_s", copy_rate_);
    if (opened) {
      out.set("disk_bytes_per_s", disk_rate_).set("tensors", tensors_).set("file_bytes", file_bytes_);
      out.set("resident_bytes", plan_.resident_bytes + plan_.copied_bytes).set("cache_bytes", cache_bytes_);
      out.set("mapped_bytes", plan_.mapped_bytes).set("budget_bytes", plan_.budget_bytes);
      out.set("bytes_per_token", cost_.bytes()).set("tokens_per_s", tokens_per_s()).set("assumptions", assumptions());
    }
    out.set("devices", Json(Json::Array{"host"}));
    return out;
  }

  ModelFlags model_;
  std::int64_t max_model_len_ = 4096;
  bool json_ = false;
  CpuInfo cpu_;
  std::vector<std::string> isas_;
  std::string folder_;
  std::int64_t memory_ = 0, tensors_ = 0, file_bytes_ = 0, cache_bytes_ = 0;
  int threads_ = 1;
  double read_rate_ = 0, copy_rate_ = 0, disk_rate_ = 0, seconds_ = 0;
  checkpoint::MemoryPlan plan_;
  TokenCost cost_;
  Finding finding_;
};

}  // namespace

std::unique_ptr<Action> make_doctor() { return std::make_unique<Doctor>(); }

}  // namespace deepinfer::cli
