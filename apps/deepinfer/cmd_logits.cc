// `deepinfer logits`: logits of given token ids at every position, with intermediates on request.
#include <fnmatch.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "action.h"
#include "base/error.h"
#include "base/io.h"
#include "checkpoint/safetensors.h"
#include "inputs.h"
#include "interrupt.h"
#include "settings.h"
#include "terminal.h"

namespace deepinfer::cli {
namespace {

using base::Json;

/// Collects node results whose path matches a name of --capture.
///
/// A result with one row a token gives one tensor over all positions (rows of neighbours and padding are dropped); any
/// other result gives one tensor a step, "<path>.step<k>". Result k > 0 of a node is "<path>#k"; the second node of a
/// step with the same path is "<path>~1". The cache roots are not copied.
class Capture {
 public:
  explicit Capture(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}
  bool active() const { return !patterns_.empty(); }
  /// The next step computes `rows` rows of the main sequence (the first ones) of `total`.
  void begin_step(std::int64_t rows, std::int64_t total) {
    rows_ = rows;
    total_ = total;
    ++step_;
    seen_.clear();
  }
  void leave_out(const void* root) { roots_.insert(root); }

  void see(const std::string& path, std::span<const TensorRef> results) {
    if (!path.empty()) paths_.insert(path);
    for (std::size_t p = 0; p < patterns_.size(); ++p) {
      if (::fnmatch(patterns_[p].c_str(), path.c_str(), 0) != 0) continue;
      matched_.insert(p);
      const int earlier = seen_[path]++;
      const std::string name = earlier == 0 ? path : fmt::format("{}~{}", path, earlier);
      for (std::size_t k = 0; k < results.size(); ++k) {
        if (!roots_.contains(results[k].data)) store(k == 0 ? name : fmt::format("{}#{}", name, k), results[k]);
      }
      return;
    }
  }

  /// UsageError for a name that no node has.
  void check_names() const {
    for (std::size_t p = 0; p < patterns_.size(); ++p) {
      if (matched_.contains(p)) continue;
      const std::vector<std::string> all(paths_.begin(), paths_.end());
      const std::vector<std::string> near = near_names(patterns_[p], all);
      usage_error("--capture: no graph node is called \"{}\"; near: {} ({} nodes; deepinfer graph dump lists them)",
                  patterns_[p],
                  near.empty() ? join(std::span(all).first(std::min<std::size_t>(5, all.size()))) : join(near),
                  all.size());
    }
  }

  std::vector<checkpoint::NamedTensor> tensors() const {
    std::vector<checkpoint::NamedTensor> out;
    for (const auto& [name, item] : items_) {
      TensorType type = item.type;
      if (item.by_row) {
        std::vector<std::int64_t> extents(type.shape.extents().begin(), type.shape.extents().end());
        extents[0] = item.rows;
        type.shape = Shape(extents);
      }
      out.push_back({name, {type, item.bytes.data(), nullptr}});
    }
    return out;
  }

 private:
  struct Item {
    TensorType type;
    bool by_row = false;
    std::int64_t rows = 0;
    std::string bytes;
  };

  void store(const std::string& name, const TensorRef& result) {
    // A name that once had another number of rows keeps one tensor a step, also in steps where the numbers agree.
    const bool by_row = !stepwise_.contains(name) && result.type.shape.rank() > 0 && result.type.shape[0] >= total_ &&
                        rows_ > 0 && (result.type.shape[0] == total_ || total_ < 64);
    if (!by_row) stepwise_.insert(name);
    Item& item = items_[by_row ? name : fmt::format("{}.step{}", name, step_)];
    const auto* data = static_cast<const char*>(result.data);
    const std::int64_t row_bytes = by_row ? result.type.bytes() / result.type.shape[0] : 0;
    item.type = result.type;
    item.by_row = by_row;
    if (by_row) {
      item.bytes.append(data, static_cast<std::size_t>(row_bytes * rows_));
      item.rows += rows_;
    } else {
      item.bytes.assign(data, static_cast<std::size_t>(result.type.bytes()));
    }
  }

  std::vector<std::string> patterns_;
  std::set<std::size_t> matched_;
  std::set<std::string> paths_;
  std::set<const void*> roots_;
  std::set<std::string> stepwise_;
  std::map<std::string, int> seen_;  // of this step
  std::map<std::string, Item> items_;
  std::int64_t rows_ = 0, total_ = 0, step_ = -1;
};

/// The sequence of interest and its neighbours, advanced together.
class Session {
 public:
  Session(engine::ModelRunner& runner, Capture& capture) : runner_(runner), capture_(capture) {}

  Status open(const std::vector<std::vector<std::int32_t>>& lists) {
    for (const auto& ids : lists) {
      DI_ASSIGN(engine::Sequence sequence, runner_.open_sequence());
      for (const std::int32_t id : ids) runner_.append_token(sequence, id);
      DI_TRY(runner_.reserve(sequence, static_cast<std::int64_t>(ids.size())));
      sequences_.push_back(std::move(sequence));
    }
    return {};
  }

  /// Logits [positions, vocab] of the first list: `prefill` tokens in chunks, the rest one by one.
  Result<std::vector<float>> run(std::int64_t prefill, std::int64_t chunk) {
    engine::Sequence& main = sequences_.front();
    const auto total = static_cast<std::int64_t>(main.tokens.size());
    std::vector<float> out;
    out.reserve(static_cast<std::size_t>(total * vocab()));
    while (main.length < total) {
      if (interrupted()) return errorf(ErrorCode::kCancelled, "interrupted at position {}", main.length);
      const bool in_prefill = main.length < prefill;
      const std::int64_t n = in_prefill ? std::min(chunk > 0 ? chunk : total, prefill - main.length) : 1;
      DI_ASSIGN(const Tensor rows, in_prefill ? prefill_step(n, total - prefill) : decode_step());
      out.insert(out.end(), rows.as<float>(), rows.as<float>() + n * vocab());
    }
    if (interrupted()) return errorf(ErrorCode::kCancelled, "interrupted in the last step");
    return out;
  }

 private:
  std::int64_t vocab() const { return runner_.model().config().vocab_size; }
  static std::int64_t left(const engine::Sequence& s) { return static_cast<std::int64_t>(s.tokens.size()) - s.length; }

  // A neighbour keeps as many tokens as the main sequence has decode steps.
  Result<Tensor> prefill_step(std::int64_t n, std::int64_t decode_steps) {
    std::vector<engine::PrefillItem> items;
    std::int64_t total = 0;
    for (engine::Sequence& s : sequences_) {
      const bool main = &s == &sequences_.front();
      const std::int64_t count = main ? n : std::min(n, left(s) - decode_steps);
      if (count < 1) continue;
      items.push_back({&s, count, main ? engine::LogitRows::kAll : engine::LogitRows::kLast, nullptr});
      total += count;
    }
    capture_.begin_step(n, total);
    Tensor rows = runner_.prefill(items);
    for (const engine::PrefillItem& item : items) advance(item.sequence, item.count);
    return rows;
  }

  Result<Tensor> decode_step() {
    std::vector<engine::DecodeItem> items;
    for (const engine::Sequence& s : sequences_) {
      if (left(s) > 0) items.push_back({&s, 1});
    }
    capture_.begin_step(1, static_cast<std::int64_t>(items.size()));
    DI_ASSIGN(Tensor rows, runner_.decode(items));
    for (const engine::DecodeItem& item : items) advance(item.sequence, 1);
    return rows;
  }

  void advance(const engine::Sequence* sequence, std::int64_t count) {
    sequences_[static_cast<std::size_t>(sequence - sequences_.data())].length += count;
  }

  engine::ModelRunner& runner_;
  Capture& capture_;
  std::vector<engine::Sequence> sequences_;
};

class Logits : public Action {
 public:
  void define(Arguments& a) override {
    model_.define(a);
    a.text("--token-ids", "1,2,3", "token ids", ids_);
    a.text("--token-ids-file", "FILE", "JSON list of token ids", ids_file_);
    a.integer("--chunk", "prefill chunk, 0 = whole", {0, INT32_MAX}, chunk_);
    a.integer("--decode-from", "prefill this many tokens, decode the rest one by one", {1, INT32_MAX}, decode_from_);
    a.text("--out", "FILE", "safetensors file with tensor logits f32 [positions, vocab]", out_);
    a.many("--capture", "NAMES", "graph node names or globs, comma separated: adds their results to the file",
           capture_);
    a.text("--batch-with", "FILE", "JSON list of id lists that share the steps", batch_with_);
    a.flag("--json", "one object {positions, vocab_size, top, sha256}", json_);
    a.examples(
        "  deepinfer logits --token-ids 0,2001,1616 --out logits.safetensors\n"
        "  deepinfer logits --token-ids 0,2001,1616 --decode-from 1 --capture 'layers.0.*' --out l.safetensors\n");
  }

  Result<int> run(const Context& context) override {
    InterruptScope cancellable;
    DI_ASSIGN(const std::vector<std::vector<std::int32_t>> lists, read_lists());
    Capture capture(capture_names());
    if (capture.active() && out_.empty()) usage_error("--capture needs --out");
    DI_ASSIGN(const std::string folder, model_.folder(context));
    engine::RunnerOptions options = model_.runner_options(context);
    DI_ASSIGN(LoadedRunner loaded, load_weights(folder));
    DI_TRY(check(loaded.model->config(), lists));
    if (decode_from_ && *decode_from_ > std::ssize(lists[0])) {
      usage_error("--decode-from {} is beyond the {} tokens given", *decode_from_, lists[0].size());
    }
    options.num_drafts = 0;
    options.max_num_seqs = static_cast<std::int64_t>(lists.size());
    for (const auto& ids : lists) longest_ = std::max(longest_, static_cast<std::int64_t>(ids.size()));
    options.max_model_len = longest_;
    DI_TRY(start_runner(loaded, options));
    if (capture.active()) {
      capture.leave_out(loaded.runner->kv_blocks().data);
      capture.leave_out(loaded.runner->kv_states().data);
      loaded.runner->set_observer([&](const std::string& path, const graph::OpDef&,
                                      std::span<const TensorRef> results) { capture.see(path, results); });
    }
    Session session(*loaded.runner, capture);
    DI_TRY(session.open(lists));
    const auto total = static_cast<std::int64_t>(lists[0].size());
    auto logits = session.run(std::min(total, decode_from_.value_or(total)), chunk_);
    if (!logits && logits.error().code == ErrorCode::kCancelled) return kInterrupted;
    if (!logits) return tl::unexpected(std::move(logits).error());
    capture.check_names();
    return deliver(*logits, loaded.model->config().vocab_size, capture);
  }

 private:
  std::vector<std::string> capture_names() const {
    std::vector<std::string> out;
    for (std::string_view list : capture_) {
      while (!list.empty()) {
        const std::size_t comma = std::min(list.find(','), list.size());
        if (comma > 0) out.emplace_back(list.substr(0, comma));
        list.remove_prefix(std::min(comma + 1, list.size()));
      }
    }
    return out;
  }

  Result<std::vector<std::vector<std::int32_t>>> read_lists() const {
    if (ids_.has_value() == ids_file_.has_value()) usage_error("logits needs one of --token-ids and --token-ids-file");
    std::vector<std::vector<std::int32_t>> lists(1);
    if (ids_) {
      try {
        lists[0] = parse_ids(*ids_);
      } catch (const UsageError& error) {
        usage_error("--token-ids: {}", error.what());
      }
    } else {
      DI_ASSIGN(const Json list, read_json_file(*ids_file_));
      DI_ASSIGN(lists[0], read_ids(list, *ids_file_));
    }
    if (!batch_with_.empty()) {
      DI_ASSIGN(const Json all, read_json_file(batch_with_));
      if (!all.is_array())
        return errorf(ErrorCode::kInvalidArgument, "{}: a list of id lists is expected", batch_with_);
      for (const Json& item : all.items()) {
        DI_ASSIGN(auto ids, read_ids(item, fmt::format("{} list {}", batch_with_, lists.size() - 1)));
        lists.push_back(std::move(ids));
      }
    }
    return lists;
  }

  Status check(const checkpoint::ModelConfig& config, const std::vector<std::vector<std::int32_t>>& lists) const {
    for (std::size_t i = 0; i < lists.size(); ++i) {
      const std::string name =
          i == 0 ? ids_file_.value_or("--token-ids") : fmt::format("{} list {}", batch_with_, i - 1);
      if (lists[i].empty()) return errorf(ErrorCode::kInvalidArgument, "{}: at least one token id is expected", name);
      if (static_cast<std::int64_t>(lists[i].size()) > config.max_position_embeddings) {
        return errorf(ErrorCode::kInvalidArgument, "{}: {} tokens exceed the context of {}", name, lists[i].size(),
                      config.max_position_embeddings);
      }
      DI_TRY(check_ids(lists[i], config.vocab_size, name));
    }
    return {};
  }

  Result<int> deliver(const std::vector<float>& logits, std::int64_t vocab, const Capture& capture) const {
    const auto positions = static_cast<std::int64_t>(logits.size()) / vocab;
    if (!out_.empty()) {
      std::vector<checkpoint::NamedTensor> tensors{
          {"logits", {{DType::kF32, {positions, vocab}}, logits.data(), nullptr}}};
      for (checkpoint::NamedTensor& tensor : capture.tensors()) {
        if (tensor.name != "logits") tensors.push_back(std::move(tensor));
      }
      DI_TRY(checkpoint::write_safetensors(out_, tensors));
      if (!json_) printf_line("{}: {} tensors, logits f32[{},{}]", out_, tensors.size(), positions, vocab);
    }
    if (json_) print_summary(logits, positions, vocab);
    if (!json_ && out_.empty()) print_last_row(logits, vocab);
    return 0;
  }

  static std::vector<std::int64_t> best(std::span<const float> row, std::size_t count) {
    std::vector<std::int64_t> ids(row.size());
    for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<std::int64_t>(i);
    count = std::min(count, ids.size());
    std::partial_sort(ids.begin(), ids.begin() + static_cast<std::ptrdiff_t>(count), ids.end(), [&](auto a, auto b) {
      const float x = row[static_cast<std::size_t>(a)];
      const float y = row[static_cast<std::size_t>(b)];
      return x != y ? x > y : a < b;
    });
    ids.resize(count);
    return ids;
  }

  static void print_summary(const std::vector<float>& logits, std::int64_t positions, std::int64_t vocab) {
    Json top = Json::array();
    for (std::int64_t p = 0; p < positions; ++p) {
      const auto row = std::span(logits).subspan(static_cast<std::size_t>(p * vocab), static_cast<std::size_t>(vocab));
      const std::int64_t id = best(row, 1)[0];
      top.push(Json(Json::Object{{"id", id}, {"logit", double{row[static_cast<std::size_t>(id)]}}}));
    }
    const std::string_view bytes(reinterpret_cast<const char*>(logits.data()), logits.size() * sizeof(float));
    print_json(Json(Json::Object{{"positions", positions},
                                 {"vocab_size", vocab},
                                 {"sha256", base::sha256_hex(bytes)},
                                 {"top", std::move(top)}}));
  }

  static void print_last_row(const std::vector<float>& logits, std::int64_t vocab) {
    const auto row = std::span(logits).last(static_cast<std::size_t>(vocab));
    std::vector<std::vector<std::string>> rows{{"id", "logit"}};
    for (const std::int64_t id : best(row, 10)) {
      rows.push_back({fmt::format("{}", id), fmt::format("{}", row[static_cast<std::size_t>(id)])});
    }
    print(table(rows));
  }

  ModelFlags model_;
  std::optional<std::string> ids_, ids_file_;
  std::int64_t chunk_ = 0;
  std::optional<std::int64_t> decode_from_;
  std::string out_, batch_with_;
  std::vector<std::string> capture_;
  std::int64_t longest_ = 1;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Action> make_logits() { return std::make_unique<Logits>(); }

}  // namespace deepinfer::cli
