// Replay of recorded blocks (goldens/model/README.md, "How to compare", 1).
//
// One step holds the whole prompt. Before each layer the streams and the collapse weights are replaced by the recorded
// ones, so an error cannot travel; shared rows, keys and selections come from the sources so fed. What the graph holds
// in packed records is decoded before it is compared.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "base/error.h"
#include "model/deepseek_v41/forward.h"
#include "ops/engram_hash/engram_hash.h"
#include "ops/quant_act/quant_format.h"
#include "verify/model_checks.h"

namespace deepinfer::verify {
namespace {

namespace v41 = model::deepseek_v41;

/// Results of every named node of the last pass.
class Captures {
 public:
  graph::NodeObserver observer() {
    return [this](const std::string& path, const graph::OpDef&, std::span<const TensorRef> results) {
      auto& kept = nodes_[path];
      kept.clear();
      for (const TensorRef& result : results) {
        kept.emplace_back(result.type);
        std::copy_n(static_cast<const std::byte*>(result.data), result.type.bytes(),
                    static_cast<std::byte*>(kept.back().data()));
      }
    };
  }
  const Tensor* find(const std::string& path, std::size_t result = 0) const {
    const auto it = nodes_.find(path);
    return it != nodes_.end() && result < it->second.size() ? &it->second[result] : nullptr;
  }
  void put(const std::string& path, Tensor tensor) {
    nodes_[path].clear();
    nodes_[path].push_back(std::move(tensor));
  }

 private:
  std::map<std::string, std::vector<Tensor>> nodes_;
};

std::vector<float> decode_records(const Tensor& records, ops::QuantFormat format, std::int64_t width) {
  const std::int64_t rows = records.shape()[0];
  const std::int64_t row_bytes = records.shape()[1];
  std::vector<float> out(static_cast<std::size_t>(rows * width));
  for (std::int64_t r = 0; r < rows; ++r) {
    const std::uint8_t* record = records.as<std::uint8_t>() + r * row_bytes;
    ops::dequantise(format, record, record + ops::code_bytes(format, width), width, out.data() + r * width);
  }
  return out;
}

std::int64_t changed(std::span<const std::int32_t> found, std::span<const std::int32_t> expected) {
  if (found.size() != expected.size()) return static_cast<std::int64_t>(expected.size());
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < found.size(); ++i) wrong += found[i] != expected[i] ? 1 : 0;
  return wrong;
}

class Replay {
 public:
  Replay(GoldenFolder& golden, ModelSession& session, Report& report)
      : golden_(golden), session_(session), config_(session.config()), report_(report) {}

  Status run() {
    DI_ASSIGN(names_, golden_.names("capture.safetensors"));
    DI_ASSIGN(noise_, golden_.json("noise.json"));
    DI_ASSIGN(const ConstTensorRef tokens, golden_.tensor("prefill.safetensors", "p33.tokens"));
    session_.start(to_ints(tokens));
    session_.runner().set_observer(captures_.observer());
    Status status = trunk();
    if (status && has("mtp.0.in")) status = draft();
    session_.runner().set_observer({});
    return status;
  }

 private:
  bool has(const std::string& name) const { return std::ranges::binary_search(names_, name); }
  Result<ConstTensorRef> recorded(const std::string& name) { return golden_.tensor("capture.safetensors", name); }

  // BadGolden unless the tensor has one row a token of the prompt and at least one column.
  void need_rows(const std::string& name, const ConstTensorRef& ref) const {
    const auto tokens = std::ssize(session_.sequence().tokens);
    need_golden(ref.type.shape.rank() == 2 && ref.type.shape[0] == tokens && ref.type.shape[1] > 0,
                "{} is {}, expected {} rows", name, to_string(ref.type), tokens);
  }

  // A recorded tensor as a value of the running step.
  Result<graph::Value> feed(graph::EagerEmitter& e, const std::string& name) {
    DI_ASSIGN(const ConstTensorRef ref, recorded(name));
    Tensor tensor(ref.type);
    std::copy_n(static_cast<const std::byte*>(ref.data), ref.type.bytes(), static_cast<std::byte*>(tensor.data()));
    return e.constant(tensor);
  }

  Status trunk() {
    const engine::PrefillItem item{&session_.sequence(), static_cast<std::int64_t>(session_.sequence().tokens.size()),
                                   engine::LogitRows::kAll, nullptr};
    const engine::PreparedStep step = engine::prepare_prefill(session_.runner().step_context(), {&item, 1});
    const graph::Bindings bound = session_.runner().bindings(step.inputs);
    const auto emitter = session_.runner().make_emitter(bound);
    graph::EagerEmitter& e = *emitter;
    const v41::ModelContext context = session_.runner().model_context();
    v41::Forward forward(e, context, step.shape);
    forward.open_roots();
    for (std::int64_t l = 0; l < config_.num_hidden_layers; ++l) DI_TRY(layer(e, forward, l));
    const graph::Value logits = forward.epilogue();
    captures_.put("logits", e.copy(logits));
    compare_plain("final.collapse", "final.collapse");
    compare_plain("logits", "logits");
    if (has("main_hidden")) {
      DI_ASSIGN(const graph::Value hidden, feed(e, "main_hidden"));
      if (const graph::Value own = forward.main_hidden()) captures_.put("main_hidden", e.copy(own));
      compare_plain("main_hidden", "main_hidden");
      forward.condition_drafts(hidden);
      compare_plain("main_x", "main_x");
      if (has("main_x_last")) compare_last_row("main_x_last", "main_x");
    }
    session_.sequence().length = item.count;
    return {};
  }

  Status layer(graph::EagerEmitter& e, v41::Forward& forward, std::int64_t l) {
    const std::string p = fmt::format("layers.{}.", l);
    if (config_.has_engram(l)) {
      DI_ASSIGN(forward.streams, feed(e, p + "engram.in"));
      forward.engram(l);
      compare_plain(p + "engram.kv", p + "engram.kv");
      compare_plain(p + "engram.out", p + "engram.out");
      compare_engram_ids(l);
    }
    DI_ASSIGN(forward.streams, feed(e, p + "in"));
    DI_ASSIGN(forward.pre, feed(e, p + "pre_in"));
    if (config_.is_draft_tap(l)) forward.record_tap(l);
    forward.block(l);
    finish_block(e, p, forward.streams, forward.pre);
    return {};
  }

  void finish_block(graph::EagerEmitter& e, const std::string& p, const graph::Value& streams,
                    const graph::Value& pre) {
    captures_.put(p + "out", e.copy(streams));
    captures_.put(p + "pre_out", e.copy(pre));
    const auto is_score = [](const std::string& name) { return name.ends_with("scores"); };
    for (const bool scores : {false, true}) {  // scores last: how strictly they are judged depends on their inputs
      for (const std::string& name : names_) {
        if (name.starts_with(p) && is_score(name) == scores) compare_block_tensor(p, name.substr(p.size()));
      }
    }
  }

  void compare_block_tensor(const std::string& p, const std::string& part) {
    const std::string name = p + part;
    if (part == "in" || part == "pre_in" || part == "ring" || part == "collapse_final" || part.starts_with("engram."))
      return;
    const std::string attn = p + "attn.";
    if (part.ends_with(".pre")) return compare_plain(name, p + part.substr(0, part.size() - 3) + "mixes", 0);
    if (part.ends_with(".post")) return compare_plain(name, p + part.substr(0, part.size() - 4) + "mixes", 1);
    if (part.ends_with(".comb")) return compare_plain(name, p + part.substr(0, part.size() - 4) + "mixes", 2);
    if (part == "attn.window_kv")
      return compare_records(name, attn + "window_records", ops::QuantFormat::kAct32, config_.head_dim);
    if (part == "attn.compress_kv")
      return compare_records(name, attn + "compress_records", ops::QuantFormat::kFp4x16, config_.head_dim);
    if (part == "index.k")
      return compare_records(name, attn + "key_records", ops::QuantFormat::kFp4x32, config_.index_head_dim);
    if (part == "index.q") return compare_index_query(name, attn + "index.q");
    if (part == "index.weights") return compare_index_weights(name, attn + "index.weights");
    if (part == "index.scores") return compare_scores(name, attn + "index.scores");
    if (part == "index.block_scores") return compare_block_scores(name, attn + "index.scores");
    if (part == "index.candidates") return compare_candidates(name, attn + "candidates");
    if (part == "attn.compress_idx") return compare_selection(name, attn + "compress_idx");
    if (part == "gate.biased") return compare_biased(name, p);
    if (part == "gate.ids" || part == "gate.weights") return compare_routing(name, p, part == "gate.ids");
    if (part.starts_with("moe.")) return compare_plain(name, p + "ffn." + part);
    compare_plain(name, p + part);
  }

  // ---- judging ----

  double limit(const std::string& name, std::string_view kind) const {
    const base::Json* replay = noise_.find("replay");
    const base::Json* entry = replay != nullptr ? replay->find(name) : nullptr;
    // Recorded integer tensors without an entry must be equal (numerics.md 12).
    return entry != nullptr ? number(*entry, kind, 0) : 0;
  }
  void judge(const std::string& name, double worst, double bound, const std::string& detail = {}) {
    report_.add(
        {"replay", name, worst, bound, worst <= bound ? CaseRow::Outcome::kPass : CaseRow::Outcome::kFail, detail});
  }
  void missing(const std::string& name, const std::string& path) {
    report_.add({"replay", name, 0, 0, CaseRow::Outcome::kFail, "no node " + path});
  }
  void judge_values(const std::string& name, std::span<const float> found, std::span<const float> expected) {
    std::int64_t different = 0;
    for (std::size_t i = 0; i < std::min(found.size(), expected.size()); ++i)
      different += found[i] != expected[i] ? 1 : 0;
    if (different == 0) equal_.insert(name);
    judge(name, rms_relative(found, expected), inputs_equal(name) ? 0 : limit(name, "limit_rms_rel"),
          different == 0 ? "equal" : fmt::format("{} of {} differ", different, expected.size()));
  }
  // Index scores of bit-equal queries, keys and weights must be bit-equal (kernels-neuron.md 5.1): their dots are
  // exact.
  bool inputs_equal(const std::string& name) const {
    if (!name.ends_with("index.scores")) return false;
    const std::string p = name.substr(0, name.size() - 6);
    const std::int64_t owner = config_.kv_source(std::stoll(name.substr(name.find('.') + 1)));
    return equal_.contains(p + "q") && equal_.contains(p + "weights") &&
           equal_.contains(fmt::format("layers.{}.index.k", owner));
  }
  void judge_ids(const std::string& name, std::span<const std::int32_t> found, std::span<const std::int32_t> expected) {
    judge(
        name,
        static_cast<double>(changed(found, expected)) / static_cast<double>(std::max<std::size_t>(expected.size(), 1)),
        limit(name, "limit_changed_ids"));
  }
  std::vector<float> expected_floats(const std::string& name) {
    const auto ref = recorded(name);
    return ref ? to_floats(*ref) : std::vector<float>{};
  }

  // ---- one kind of tensor each ----

  void compare_plain(const std::string& name, const std::string& path, std::size_t result = 0) {
    if (!has(name)) return;
    const Tensor* found = captures_.find(path, result);
    if (found == nullptr) return missing(name, path);
    judge_values(name, to_floats(found->ref()), expected_floats(name));
  }

  void compare_last_row(const std::string& name, const std::string& path) {
    const Tensor* found = captures_.find(path);
    if (found == nullptr) return missing(name, path);
    const std::vector<float> all = to_floats(found->ref());
    judge_values(name, std::span(all).last(static_cast<std::size_t>(found->shape()[1])), expected_floats(name));
  }

  void compare_records(const std::string& name, const std::string& path, ops::QuantFormat format, std::int64_t width) {
    const Tensor* found = captures_.find(path);
    if (found == nullptr) return missing(name, path);
    judge_values(name, decode_records(*found, format, width), expected_floats(name));
  }

  void compare_index_query(const std::string& name, const std::string& path) {
    const Tensor* codes = captures_.find(path, 0);
    const Tensor* scales = captures_.find(path, 1);
    if (codes == nullptr || scales == nullptr) return missing(name, path);
    const std::int64_t n = codes->shape().num_elements() * 2;
    std::vector<float> found(static_cast<std::size_t>(n));
    ops::dequantise(ops::QuantFormat::kFp4x32, codes->as<std::uint8_t>(), scales->as<std::uint8_t>(), n, found.data());
    judge_values(name, found, expected_floats(name));
  }

  // Recorded before the constant factor, which the graph folds in with a second rounding.
  void compare_index_weights(const std::string& name, const std::string& path) {
    const Tensor* found = captures_.find(path);
    if (found == nullptr) return missing(name, path);
    const double factor = (1.0 / std::sqrt(static_cast<double>(config_.index_head_dim))) *
                          (1.0 / std::sqrt(static_cast<double>(config_.index_n_heads)));
    std::vector<float> expected = expected_floats(name);
    for (float& value : expected) value = round_bf16(value * static_cast<float>(factor));
    judge_values(name, to_floats(found->ref()), expected);
  }

  // Columns 0 .. width-1 of a [T, R] tensor; the graph's R covers whole blocks.
  static std::vector<float> first_columns(const Tensor& tensor, std::int64_t width) {
    const std::vector<float> all = to_floats(tensor.ref());
    const std::int64_t stride = tensor.shape()[1];
    std::vector<float> out;
    for (std::int64_t t = 0; t < tensor.shape()[0]; ++t) {
      for (std::int64_t j = 0; j < width; ++j)
        out.push_back(j < stride ? all[static_cast<std::size_t>(t * stride + j)] : -1e30F);
    }
    return out;
  }

  void compare_scores(const std::string& name, const std::string& path) {
    const Tensor* found = captures_.find(path);
    const auto ref = recorded(name);
    if (found == nullptr || !ref) return missing(name, path);
    need_rows(name, *ref);
    judge_values(name, first_columns(*found, ref->type.shape[1]), to_floats(*ref));
  }

  void compare_block_scores(const std::string& name, const std::string& path) {
    const Tensor* scores = captures_.find(path);
    const auto ref = recorded(name);
    if (scores == nullptr || !ref) return missing(name, path);
    need_rows(name, *ref);
    const std::int64_t blocks = ref->type.shape[1];
    const std::int64_t size = config_.candidate_block_size;
    const std::vector<float> rows = first_columns(*scores, blocks * size);
    std::vector<float> found;
    for (std::int64_t t = 0; t < ref->type.shape[0]; ++t) {
      for (std::int64_t b = 0; b < blocks; ++b) {
        const auto* first = rows.data() + t * blocks * size + b * size;
        const bool newest = t / size == b;  // ratio 1: row t is the newest one that position t sees
        found.push_back(newest ? HUGE_VALF : *std::max_element(first, first + size));
      }
    }
    judge_values(name, found, to_floats(*ref));
  }

  void compare_candidates(const std::string& name, const std::string& path) {
    const Tensor* ids = captures_.find(path, 0);
    const Tensor* counts = captures_.find(path, 1);
    const auto ref = recorded(name);
    if (ids == nullptr || counts == nullptr || !ref) return missing(name, path);
    need_rows(name, *ref);
    const std::int64_t rows = ref->type.shape[1];
    std::vector<std::int32_t> found(static_cast<std::size_t>(ref->type.num_elements()));
    for (std::int64_t t = 0; t < ref->type.shape[0]; ++t) {
      for (std::int64_t i = 0; i < counts->as<std::int32_t>()[t]; ++i) {
        const std::int64_t block = ids->as<std::int32_t>()[t * ids->shape()[1] + i];
        for (std::int64_t j = block * config_.candidate_block_size;
             j < std::min(rows, (block + 1) * config_.candidate_block_size); ++j) {
          found[static_cast<std::size_t>(t * rows + j)] = 1;
        }
      }
    }
    std::vector<std::int32_t> expected;
    for (const float value : to_floats(*ref)) expected.push_back(value != 0 ? 1 : 0);
    judge_ids(name, found, expected);
  }

  void compare_selection(const std::string& name, const std::string& path) {
    const Tensor* ids = captures_.find(path, 0);
    const Tensor* counts = captures_.find(path, 1);
    const auto ref = recorded(name);
    if (!ref) return missing(name, path);
    need_rows(name, *ref);
    if (ids == nullptr || counts == nullptr) {
      // A reuse layer takes its owner's list unchanged; the owner's row is judged.
      return compare_selection(name, fmt::format("layers.{}.attn.compress_idx", owner_of(name)));
    }
    const std::int64_t width = ref->type.shape[1];
    std::vector<std::int32_t> found;
    for (std::int64_t t = 0; t < ref->type.shape[0]; ++t) {
      const std::int64_t count = counts->as<std::int32_t>()[t];
      for (std::int64_t i = 0; i < width; ++i) {
        found.push_back(i < count ? ids->as<std::int32_t>()[t * ids->shape()[1] + i] : -1);
      }
    }
    judge_ids(name, found, to_ints(*ref));
  }
  std::int64_t owner_of(const std::string& name) const {
    const std::size_t dot = name.find('.');
    return config_.index_source(std::stoll(name.substr(dot + 1)));
  }

  const v41::Moe& moe_of(const std::string& p) const {
    const auto index = static_cast<std::size_t>(std::stoll(p.substr(p.find('.') + 1)));
    const v41::Weights& weights = session_.runner().model().weights();
    return p.starts_with("mtp.") ? weights.stages[index].ffn : weights.layers[index].ffn;
  }

  void compare_biased(const std::string& name, const std::string& p) {
    const Tensor* scores = captures_.find(p + "ffn.gate.scores");
    if (scores == nullptr) return missing(name, p + "ffn.gate.scores");
    std::vector<float> found = to_floats(scores->ref());
    const float* bias = moe_of(p).bias.tensor.as<float>();
    const auto num_experts = static_cast<std::size_t>(scores->shape()[1]);
    for (std::size_t i = 0; i < found.size(); ++i) found[i] += bias[i % num_experts];
    judge_values(name, found, expected_floats(name));
  }

  // Recorded in order of falling biased score, in the graph by ascending id: compared as (id, weight) pairs by id.
  void compare_routing(const std::string& name, const std::string& p, bool ids_wanted) {
    const Tensor* ids = captures_.find(p + "ffn.gate.topk", 0);
    const Tensor* weights = captures_.find(p + "ffn.gate.topk", 1);
    const auto ids_ref = recorded(p + "gate.ids");
    const auto weights_ref = recorded(p + "gate.weights");
    if (ids == nullptr || !ids_ref || !weights_ref) return missing(name, p + "ffn.gate.topk");
    const std::vector<std::int32_t> expected_ids = to_ints(*ids_ref);
    const std::vector<float> expected_weights = to_floats(*weights_ref);
    need_golden(ids_ref->type.shape.rank() == 2 && ids_ref->type.shape[1] > 0 &&
                    weights_ref->type.shape == ids_ref->type.shape, "{}gate.weights is {}, gate.ids {}", p,
                to_string(weights_ref->type), to_string(ids_ref->type));
    const auto k = static_cast<std::size_t>(ids_ref->type.shape[1]);
    std::vector<std::int32_t> sorted_ids;
    std::vector<float> sorted_weights;
    for (std::size_t t = 0; t < expected_ids.size(); t += k) {
      std::vector<std::pair<std::int32_t, float>> pairs;
      for (std::size_t i = t; i < t + k; ++i) pairs.emplace_back(expected_ids[i], expected_weights[i]);
      std::sort(pairs.begin(), pairs.end());
      for (const auto& [id, weight] : pairs) {
        sorted_ids.push_back(id);
        sorted_weights.push_back(weight);
      }
    }
    if (ids_wanted) return judge_ids(name, ids->span<std::int32_t>(), sorted_ids);
    judge_values(name, to_floats(weights->ref()), sorted_weights);
  }

  void compare_engram_ids(std::int64_t l) {
    const std::string name = fmt::format("layers.{}.engram.ids", l);
    const auto ref = recorded(name);
    if (!ref) return missing(name, "engram_hash");
    const std::vector<std::int32_t> expected = to_ints(*ref);
    const std::int64_t wanted = std::ssize(session_.sequence().tokens) * config_.engram_columns();
    need_golden(std::ssize(expected) == wanted && ref->type.shape[0] == std::ssize(session_.sequence().tokens),
                "{} is {}, expected {} ids", name, to_string(ref->type), wanted);
    std::vector<std::int64_t> rows(expected.size());
    ops::engram_row_ids(session_.runner().model().engram_hash(config_.engram_index(l)), session_.sequence().classes, 0,
                        ref->type.shape[0], rows.data());
    judge_ids(name, std::vector<std::int32_t>(rows.begin(), rows.end()), expected);
  }

  // ---- draft ----

  Status draft() {
    DI_ASSIGN(const ConstTensorRef ids_ref, recorded("draft.ids"));
    const std::vector<std::int32_t> ids = to_ints(ids_ref);
    need_golden(std::ssize(ids) == config_.dspark_block_size + 1, "draft.ids has {} ids, expected {}", ids.size(),
                config_.dspark_block_size + 1);
    for (const std::int32_t id : ids) {
      need_golden(id >= 0 && id < session_.vocab(), "draft.ids holds {}, accepted: 0 .. {}", id, session_.vocab() - 1);
    }
    const engine::Sequence* sequence = &session_.sequence();
    const engine::HostTensors inputs =
        engine::prepare_draft(session_.runner().step_context(), {&sequence, 1}, {ids.data(), 1}, 0);
    const graph::Bindings bound = session_.runner().bindings(inputs);
    const auto emitter = session_.runner().make_emitter(bound);
    graph::EagerEmitter& e = *emitter;
    const v41::ModelContext context = session_.runner().model_context();
    v41::DraftForward forward(e, context, {.num_requests = 1});
    forward.prologue();
    for (std::int64_t s = 0; s < config_.num_nextn_predict_layers; ++s) {
      const std::string p = fmt::format("mtp.{}.", s);
      compare_ring(s);
      DI_ASSIGN(forward.streams(), feed(e, p + "in"));
      DI_ASSIGN(forward.pre(), feed(e, p + "pre_in"));
      forward.stage(s);
      finish_block(e, p, forward.streams(), forward.pre());
    }
    const v41::DraftForward::Result result = forward.epilogue();
    compare_plain(fmt::format("mtp.{}.collapse_final", config_.num_nextn_predict_layers - 1), "mtp.collapse_final");
    captures_.put("draft.raw_logits", e.copy(result.raw_logits));
    compare_plain("draft.raw_logits", "draft.raw_logits");
    return markov(e.copy(result.hidden), e.copy(result.raw_logits), ids);
  }

  Status markov(Tensor hidden, Tensor raw, std::span<const std::int32_t> ids) {
    const engine::ModelRunner::DraftRows rows{std::move(hidden), std::move(raw)};
    std::vector<float> logits;
    std::vector<float> confidence;
    std::vector<std::int32_t> found{ids[0]};
    for (std::int64_t k = 0; k < config_.dspark_block_size; ++k) {
      const auto step = session_.runner().markov(rows, k, {&ids[static_cast<std::size_t>(k)], 1});
      const std::span<const float> row(step.logits.as<float>(), static_cast<std::size_t>(session_.vocab()));
      logits.insert(logits.end(), row.begin(), row.end());
      confidence.push_back(*step.confidence.as<float>());
      found.push_back(static_cast<std::int32_t>(argmax(row)));
    }
    judge_values("draft.logits", logits, expected_floats("draft.logits"));
    judge_values("draft.confidence", confidence, expected_floats("draft.confidence"));
    judge_ids("draft.ids", found, ids);
    return {};
  }

  // The reference's ring has W slots (position mod W); the engine's is longer, with the same records by position.
  void compare_ring(std::int64_t s) {
    const std::string name = fmt::format("mtp.{}.ring", s);
    if (!has(name)) return;
    const kv::CacheView& view = session_.runner().layout().swa(config_.num_hidden_layers + s);
    const std::int64_t length = session_.sequence().length;
    const std::int64_t window = config_.sliding_window;
    const std::int64_t row_size = session_.runner().layout().bytes_per_state();
    const std::uint8_t* root = session_.runner().kv_states().as<std::uint8_t>() + session_.sequence().slot * row_size;
    const std::int64_t written = std::min(length, window);
    Tensor records(DType::kU8, {written, view.row_bytes});
    for (std::int64_t p = length - written; p < length; ++p) {
      std::copy_n(root + view.base + (p % view.rows) * view.row_bytes, view.row_bytes,
                  records.as<std::uint8_t>() + (p % window) * view.row_bytes);
    }
    judge_values(name, decode_records(records, ops::QuantFormat::kAct32, config_.head_dim), expected_floats(name));
  }

  GoldenFolder& golden_;
  ModelSession& session_;
  const checkpoint::ModelConfig& config_;
  Report& report_;
  Captures captures_;
  std::vector<std::string> names_;
  std::set<std::string> equal_;  // recorded tensors that were met to the bit
  base::Json noise_;
};

}  // namespace

Status replay_blocks(GoldenFolder& golden, ModelSession& session, Report& report) {
  return Replay(golden, session, report).run();
}

}  // namespace deepinfer::verify
