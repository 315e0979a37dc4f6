// `deepinfer bench ...`: measured times beside the limits of the same run.
#include <algorithm>
#include <map>

#include "action.h"
#include "base/error.h"
#include "machine.h"
#include "ops/isa/isa.h"
#include "settings.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

using base::Json;

// Larger than the last-level caches of servers, so that the limit and the kernels see memory.
constexpr std::int64_t kBufferBytes = std::int64_t{288} << 20;

/// One measured thing. Bytes and FLOPs are per run; a zero is not printed.
struct Row {
  std::string name;
  double bytes = 0;
  double flops = 0;
  Timing timing;
  double tokens = 0;  ///< per run
};

/// What all benchmarks share: the form of the report and the limits of the machine.
class Bench : public Action {
 public:
  void define(Arguments& a) override {
    model_.define(a);
    a.flag("--json", "one object {limits, rows}", json_);
    a.flag("--csv", "comma separated rows", csv_);
    a.number("--seconds", "time a measurement", {0.01, 600}, seconds_);
    define_more(a);
  }

  Result<int> run(const Context& context) override {
    pool_ = std::make_unique<base::ThreadPool>(static_cast<int>(model_.threads));
    limit_ = read_bandwidth(*pool_, kBufferBytes);
    DI_TRY(work(context));
    print_rows();
    return 0;
  }

 protected:
  virtual void define_more(Arguments& a) = 0;
  virtual Status work(const Context& context) = 0;

  ModelFlags model_;
  double seconds_ = 0.5;
  std::unique_ptr<base::ThreadPool> pool_;
  std::vector<Row> rows_;
  std::vector<std::pair<std::string, std::string>> notes_;  ///< printed above the rows

  static std::vector<std::int32_t> random_ids(std::int64_t count, std::int64_t vocab) {
    std::vector<std::int32_t> ids(static_cast<std::size_t>(count));
    std::uint64_t state = 0x9E3779B97F4A7C15;
    for (std::int32_t& id : ids) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      id = static_cast<std::int32_t>((state >> 33) % static_cast<std::uint64_t>(vocab));
    }
    return ids;
  }

  Result<LoadedRunner> load(const Context& context, std::int64_t length, std::int64_t rows) {
    DI_ASSIGN(const std::string folder, model_.folder(context));
    DI_ASSIGN(LoadedRunner loaded, load_weights(folder));
    engine::RunnerOptions options = model_.runner_options(context);
    options.max_model_len = length;
    options.num_drafts = std::max<std::int64_t>(0, rows - 1);
    DI_TRY(start_runner(loaded, options));
    notes_.emplace_back("model", folder);
    notes_.emplace_back("load_s", fmt::format("{:.3f}", loaded.load_s));
    return loaded;
  }

 private:
  void print_rows() const {
    if (json_) {
      Json rows = Json::array();
      for (const Row& row : rows_) rows.push(row_json(row));
      Json notes = Json::object();
      for (const auto& [key, value] : notes_) notes.set(key, value);
      print_json(
          Json(Json::Object{{"limits", Json::Object{{"read_bytes_per_s", limit_}, {"threads", pool_->num_threads()}}},
                            {"notes", std::move(notes)},
                            {"rows", std::move(rows)}}));
      return;
    }
    if (csv_) {
      print("name,bytes,flops,median_s,spread,bytes_per_s,bandwidth_ratio,tokens_per_s\n");
      for (const Row& row : rows_) {
        printf_line("{},{:.0f},{:.0f},{:.9f},{:.4f},{:.0f},{:.4f},{:.3f}", row.name, row.bytes, row.flops,
                    row.timing.median_s, row.timing.spread, rate(row), rate(row) / limit_,
                    row.tokens / row.timing.median_s);
      }
      return;
    }
    for (const auto& [key, value] : notes_) printf_line("{}: {}", key, value);
    printf_line("limit measured in this run: read {}/s with {} threads\n", human_bytes(limit_), pool_->num_threads());
    std::vector<std::vector<std::string>> out{
        {"name", "bytes", "MFLOP", "median", "spread", "rate", "of read limit", "tokens/s"}};
    for (const Row& row : rows_) {
      out.push_back({row.name, row.bytes > 0 ? human_bytes(row.bytes) : "-",
                     row.flops > 0 ? fmt::format("{:.2f}", row.flops / 1e6) : "-",
                     fmt::format("{:.1f} us", row.timing.median_s * 1e6),
                     fmt::format("{:.0f} %", 100 * row.timing.spread),
                     row.bytes > 0 ? human_bytes(rate(row)) + "/s" : "-",
                     row.bytes > 0 ? fmt::format("{:.2f}", rate(row) / limit_) : "-",
                     row.tokens > 0 ? fmt::format("{:.1f}", row.tokens / row.timing.median_s) : "-"});
    }
    print(table(out));
  }

  static double rate(const Row& row) { return row.bytes / row.timing.median_s; }

  Json row_json(const Row& row) const {
    return Json(Json::Object{{"name", row.name},
                             {"bytes", row.bytes},
                             {"flops", row.flops},
                             {"median_s", row.timing.median_s},
                             {"spread", row.timing.spread},
                             {"bytes_per_s", rate(row)},
                             {"bandwidth_ratio", rate(row) / limit_},
                             {"tokens_per_s", row.tokens / row.timing.median_s}});
  }

  double limit_ = 1;
  bool json_ = false, csv_ = false;
};

class BenchDecode : public Bench {
  void define_more(Arguments& a) override {
    a.integer("--context", "tokens before the first step", {1, INT32_MAX}, context_);
    a.integer("--rows", "query tokens of the longest step (1 + drafts)", {1, 65}, rows_wanted_);
    a.later({"--shape"});
    a.examples("  deepinfer bench decode\n  deepinfer bench decode --context 2000 --rows 6 --json\n");
  }
  Status work(const Context& context) override {
    DI_ASSIGN(LoadedRunner loaded, load(context, context_ + 8 + rows_wanted_, rows_wanted_));
    engine::ModelRunner& runner = *loaded.runner;
    DI_ASSIGN(engine::Sequence sequence, runner.open_sequence());
    for (const std::int32_t id : random_ids(context_ + rows_wanted_, loaded.model->config().vocab_size)) {
      runner.append_token(sequence, id);
    }
    DI_TRY(runner.reserve(sequence, context_ + rows_wanted_));
    const engine::PrefillItem prompt{&sequence, context_, engine::LogitRows::kLast, nullptr};
    runner.prefill({&prompt, 1});
    sequence.length = context_;
    const TokenCost cost = token_cost(loaded.model->config());
    notes_.emplace_back("workspace_bytes", fmt::format("{}", runner.workspace_bytes()));
    for (std::int64_t n = 1; n <= rows_wanted_; n = n == rows_wanted_ ? n + 1 : std::min(2 * n, rows_wanted_)) {
      // The step is repeated at one place: nothing advances the sequence, so every run does the same work.
      const engine::DecodeItem item{&sequence, n};
      Status failed;
      const Timing timing = measure(seconds_, [&] {
        const auto step = runner.decode({&item, 1});
        if (!step) failed = tl::unexpected(step.error());
      });
      DI_TRY(failed);
      const auto count = static_cast<double>(n);
      const double experts = std::min(cost.expert_bytes * count, all_experts(loaded.model->config(), cost));
      rows_.push_back({fmt::format("decode, {} row{}", n, n > 1 ? "s" : ""), cost.resident_bytes + experts,
                       cost.flops * count, timing, count});
    }
    return {};
  }
  static double all_experts(const checkpoint::ModelConfig& c, const TokenCost& cost) {
    return cost.expert_bytes * static_cast<double>(c.n_routed_experts) / static_cast<double>(c.num_experts_per_tok);
  }
  std::int64_t context_ = 256, rows_wanted_ = 6;
};

class BenchPrefill : public Bench {
  void define_more(Arguments& a) override {
    a.integer("--tokens", "length of the prompt", {1, INT32_MAX}, tokens_);
    a.integer("--chunk", "tokens a step, 0 = whole", {0, INT32_MAX}, chunk_);
    a.later({"--shape"});
    a.examples("  deepinfer bench prefill --tokens 2048 --chunk 512\n");
  }
  Status work(const Context& context) override {
    DI_ASSIGN(LoadedRunner loaded, load(context, tokens_, 1));
    engine::ModelRunner& runner = *loaded.runner;
    const auto ids = random_ids(tokens_, loaded.model->config().vocab_size);
    Status failed;
    const auto once = [&]() -> Status {
      DI_ASSIGN(engine::Sequence sequence, runner.open_sequence());
      for (const std::int32_t id : ids) runner.append_token(sequence, id);
      sequence.tail_start = runner.tail_start(tokens_);
      DI_TRY(runner.reserve(sequence, tokens_));
      while (sequence.length < tokens_) {
        const std::int64_t n = std::min(chunk_ > 0 ? chunk_ : tokens_, tokens_ - sequence.length);
        const bool last = sequence.length + n == tokens_;
        const engine::PrefillItem item{&sequence, n, last ? engine::LogitRows::kLast : engine::LogitRows::kNone,
                                       nullptr};
        runner.prefill({&item, 1});
        sequence.length += n;
      }
      runner.close_sequence(sequence);
      return {};
    };
    const Timing timing = measure(seconds_, [&] {
      if (Status status = once(); !status) failed = status;
    });
    DI_TRY(failed);
    const TokenCost cost = token_cost(loaded.model->config());
    const auto count = static_cast<double>(tokens_);
    rows_.push_back(
        {fmt::format("prefill, {} tokens, chunk {}", tokens_, chunk_), 0, cost.flops * count, timing, count});
    return {};
  }
  std::int64_t tokens_ = 1024, chunk_ = 512;
};

class BenchLoad : public Bench {
  void define_more(Arguments& a) override { a.examples("  deepinfer bench load --model DIR\n"); }
  Status work(const Context& context) override {
    DI_ASSIGN(const std::string folder, model_.folder(context));
    DI_ASSIGN(const checkpoint::Checkpoint opened, checkpoint::Checkpoint::open(folder));
    double bytes = 0;
    for (const auto& file : opened.files()) bytes += static_cast<double>(file.file_bytes());
    Status failed;
    rows_.push_back({"open and validate", bytes, 0, measure(seconds_, [&] {
                       const auto again = checkpoint::Checkpoint::open(folder);
                       if (!again) failed = tl::unexpected(again.error());
                     })});
    rows_.push_back({"open, weights and tokenizer", bytes, 0, measure(seconds_, [&] {
                       const auto again = load_weights(folder);
                       if (!again) failed = tl::unexpected(again.error());
                     })});
    DI_TRY(failed);
    for (const auto& file : opened.files()) {
      DI_ASSIGN(const double rate, disk_rate(file.path(), std::int64_t{256} << 20));
      const double size = std::min(static_cast<double>(file.file_bytes()), 268435456.0);
      rows_.push_back({"read " + file.path(), size, 0, {size / rate, 0}});
    }
    return {};
  }
};

/// The layer of a node path, "layers.3.attn.wq_a" -> "layers.3"; the first word otherwise.
std::string part_of(const std::string& path) {
  const std::size_t first = path.find('.');
  if (first == std::string::npos) return path.empty() ? "(outside the layers)" : path;
  const std::string word = path.substr(0, first);
  return word == "layers" || word == "mtp" ? path.substr(0, path.find('.', first + 1)) : word;
}

class BenchLayer : public Bench {
  void define_more(Arguments& a) override {
    a.integer("--context", "tokens before the step", {1, INT32_MAX}, context_);
    a.choice("--by", "what a row is; default: layer", {{"layer", "op"}}, by_);
    a.later({"--shape"});
    a.examples("  deepinfer bench layer\n  deepinfer bench layer --by op --csv\n");
  }
  Status work(const Context& context) override {
    model_.graph_mode = "eager";
    DI_ASSIGN(LoadedRunner loaded, load(context, context_ + 2, 1));
    engine::ModelRunner& runner = *loaded.runner;
    DI_ASSIGN(engine::Sequence sequence, runner.open_sequence());
    for (const std::int32_t id : random_ids(context_ + 1, loaded.model->config().vocab_size))
      runner.append_token(sequence, id);
    DI_TRY(runner.reserve(sequence, context_ + 1));
    const engine::PrefillItem prompt{&sequence, context_, engine::LogitRows::kLast, nullptr};
    runner.prefill({&prompt, 1});
    sequence.length = context_;
    std::map<std::string, std::vector<double>> times;
    std::vector<std::string> order;
    std::map<std::string, double> step;
    double before = 0;
    runner.set_observer([&](const std::string& path, const graph::OpDef& op, std::span<const TensorRef>) {
      const std::string name = by_ == "op" ? std::string(op.name) : part_of(path);
      if (!times.contains(name) && !step.contains(name)) order.push_back(name);
      const double now = now_s();
      step[name] += now - before;
      before = now_s();
    });
    const engine::DecodeItem item{&sequence, 1};
    Status failed;
    measure(seconds_, [&] {
      step.clear();
      before = now_s();
      const auto done = runner.decode({&item, 1});
      if (!done) failed = tl::unexpected(done.error());
      for (const auto& [name, time] : step) times[name].push_back(time);
    });
    DI_TRY(failed);
    for (const std::string& name : order) {
      auto& list = times[name];
      std::ranges::sort(list);
      const auto at = [&](std::size_t percent) { return list[(list.size() - 1) * percent / 100]; };
      rows_.push_back({name, 0, 0, {at(50), at(50) > 0 ? (at(90) - at(10)) / at(50) : 0}});
    }
    return {};
  }
  std::int64_t context_ = 256;
  std::string by_ = "layer";
};

class BenchKernels : public Bench {
  void define_more(Arguments& a) override {
    a.choice("--shape", "whose matrices; default: v4.1-flash", {{"v4.1-flash", "model"}}, shape_);
    a.examples("  deepinfer bench kernels\n  deepinfer bench kernels --isa scalar --shape model --csv\n");
  }
  Status work(const Context& context) override {
    checkpoint::ModelConfig config = checkpoint::released_config();
    if (shape_ == "model") {
      DI_ASSIGN(const std::string folder, model_.folder(context));
      DI_ASSIGN(config, checkpoint::load_config(folder));
    }
    std::vector<const isa::Kernels*> tables(isa::available().begin(), isa::available().end());
    if (!model_.isa.empty()) {
      DI_ASSIGN(const isa::Kernels* one, isa::choose(model_.isa));
      tables = {one};
    }
    notes_.emplace_back("shape", fmt::format("{}: k = {}, weights cache-cold", shape_, config.hidden_size));
    for (const isa::Kernels* kernels : tables) kernel_rows(*kernels, config.hidden_size);
    return {};
  }

  // Every run takes the next of six slices of the buffer, so that the weights are not in a cache.
  void kernel_rows(const isa::Kernels& kernels, std::int64_t k) {
    const std::vector<float> x(static_cast<std::size_t>(k), 0.5F);
    const std::vector<std::uint8_t> codes(static_cast<std::size_t>(k), 0x30);
    const std::vector<std::uint8_t> scales(static_cast<std::size_t>(k / 32), 127);
    const std::int64_t n = kBufferBytes / kSlices / k;
    const std::vector<std::uint8_t> bytes(static_cast<std::size_t>(kSlices * n * k), 0x31);
    const std::vector<std::uint8_t> row_scales(static_cast<std::size_t>(2 * n * k / 32), 127);
    std::vector<float> out(static_cast<std::size_t>(2 * n));
    add(kernels, "fp8 e4m3", n, k, 1, [&](std::int64_t slice, std::int64_t begin, std::int64_t end) {
      kernels.rows_e4m3(x.data(), bytes.data() + (slice * n + begin) * k, k, end - begin, out.data() + begin);
    });
    add(kernels, "fp4 e2m1", 2 * n, k, 0.5 + 1.0 / 32, [&](std::int64_t slice, std::int64_t begin, std::int64_t end) {
      kernels.rows_e2m1(codes.data(), scales.data(), bytes.data() + slice * n * k + begin * k / 2,
                        row_scales.data() + begin * k / 32, k, end - begin, out.data() + begin);
    });
    add(kernels, "bf16", n / 2, k, 2, [&](std::int64_t slice, std::int64_t begin, std::int64_t end) {
      const auto* weights = reinterpret_cast<const BF16*>(bytes.data() + slice * n * k);
      kernels.rows_bf16(x.data(), weights + begin * k, k, end - begin, out.data() + begin);
    });
  }

  template <typename F>
  void add(const isa::Kernels& kernels, std::string_view name, std::int64_t n, std::int64_t k, double weight_bytes,
           const F& fn) {
    std::int64_t run = 0;
    const Timing timing = measure(seconds_, [&] {
      const std::int64_t slice = run++ % kSlices;
      pool_->parallel_for(n, 16, [&](std::int64_t begin, std::int64_t end) { fn(slice, begin, end); });
    });
    const auto weights = static_cast<double>(n * k);
    rows_.push_back(
        {fmt::format("{} {} [{}, {}]", kernels.name, name, n, k), weights * weight_bytes, 2 * weights, timing});
  }

  static constexpr std::int64_t kSlices = 6;
  std::string shape_ = "v4.1-flash";
};

}  // namespace

std::unique_ptr<Action> make_bench_decode() { return std::make_unique<BenchDecode>(); }
std::unique_ptr<Action> make_bench_prefill() { return std::make_unique<BenchPrefill>(); }
std::unique_ptr<Action> make_bench_load() { return std::make_unique<BenchLoad>(); }
std::unique_ptr<Action> make_bench_layer() { return std::make_unique<BenchLayer>(); }
std::unique_ptr<Action> make_bench_kernels() { return std::make_unique<BenchKernels>(); }

}  // namespace deepinfer::cli
