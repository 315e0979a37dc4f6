// `deepinfer inspect`: what is in a checkpoint.
#include "action.h"
#include "base/error.h"
#include "checkpoint/inspect.h"
#include "settings.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

class Inspect : public Action {
 public:
  void define(Arguments& a) override {
    model_.define(a);
    a.positional({"DIR", "", "checkpoint folder, like --model"}, Arguments::Presence::kOptional,
                 [this](const std::string& value) { model_.model = value; });
    a.flag("--hash", "SHA-256 of every file", hash_);
    a.flag("--full-scan", "check every scale and value, experts and tables included", full_scan_);
    a.flag("--tensors", "a row for every tensor", tensors_);
    a.flag("--json", "one object", json_);
    a.examples("  deepinfer inspect\n  deepinfer inspect models/tiny-chat --hash --json\n");
  }

  Result<int> run(const Context& context) override {
    DI_ASSIGN(const std::string folder, model_.folder(context));
    checkpoint::LoadOptions options;
    if (full_scan_) options.scan = checkpoint::ScanLevel::kFull;
    DI_ASSIGN(const checkpoint::Checkpoint opened, checkpoint::Checkpoint::open(folder, options));
    const auto hashes = hash_ ? checkpoint::FileHashes::kCompute : checkpoint::FileHashes::kSkip;
    DI_ASSIGN(const checkpoint::Inspection found, checkpoint::inspect(opened, hashes));
    json_ ? print_json(checkpoint::to_json(found)) : print_text(folder, found);
    return 0;
  }

 private:
  using Rows = std::vector<std::vector<std::string>>;

  static std::string source(std::int64_t layer) { return layer < 0 ? "-" : fmt::format("{}", layer); }
  static std::string shape(const std::vector<std::int64_t>& extents) {
    return fmt::format("[{}]", fmt::join(extents, ", "));
  }

  void print_text(const std::string& folder, const checkpoint::Inspection& found) const {
    const checkpoint::ModelConfig& c = found.config;
    printf_line(
        "{}: {} layers, {} draft layers, hidden {}, heads {} x {}, experts {} (top {}), vocabulary {}, context {}",
        folder, c.num_hidden_layers, c.num_nextn_predict_layers, c.hidden_size, c.num_attention_heads, c.head_dim,
        c.n_routed_experts, c.num_experts_per_tok, c.vocab_size, c.max_position_embeddings);
    printf_line("tensor names: {}\n", found.style);
    Rows files{{"file", "bytes", "tensors", hash_ ? "sha256" : ""}};
    for (const auto& file : found.files) {
      files.push_back({file.path, fmt::format("{}", file.bytes), fmt::format("{}", file.tensors), file.sha256});
    }
    print(table(files) + "\n");
    Rows groups{{"group", "tensors", "bytes"}};
    for (const auto& group : found.groups) {
      groups.push_back({std::string(checkpoint::weight_group_name(group.group)), fmt::format("{}", group.tensors),
                        fmt::format("{} ({})", group.bytes, human_bytes(static_cast<double>(group.bytes)))});
    }
    print(table(groups) + "\n");
    Rows layers{{"layer", "role", "ratio", "kv from", "index from", "marks"}};
    for (const auto& layer : found.layers) {
      std::string marks;
      if (layer.candidate_source) marks += "candidates ";
      if (layer.engram) marks += "engram ";
      if (layer.draft_tap) marks += "draft-tap";
      layers.push_back({layer.name, layer.role, fmt::format("{}", layer.ratio), source(layer.kv_source),
                        source(layer.index_source), marks});
    }
    print(table(layers) + "\n");
    if (tensors_) {
      Rows rows{{"tensor", "dtype", "shape", "bytes"}};
      for (const auto& tensor : found.tensors) {
        rows.push_back({tensor.name, tensor.dtype, shape(tensor.shape), fmt::format("{}", tensor.bytes)});
      }
      print(table(rows) + "\n");
    }
    printf_line("memory: {} read at every step, {} paged on demand, {} copied; allowed here {}",
                human_bytes(static_cast<double>(found.plan.resident_bytes)),
                human_bytes(static_cast<double>(found.plan.mapped_bytes)),
                human_bytes(static_cast<double>(found.plan.copied_bytes)),
                human_bytes(static_cast<double>(found.plan.allowed_bytes)));
    if (!found.ignored.empty()) printf_line("ignored tensors: {}", join(found.ignored));
    for (const std::string& warning : found.warnings) printf_line("warning: {}", warning);
  }

  ModelFlags model_;
  bool hash_ = false, full_scan_ = false, tensors_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Action> make_inspect() { return std::make_unique<Inspect>(); }

}  // namespace deepinfer::cli
