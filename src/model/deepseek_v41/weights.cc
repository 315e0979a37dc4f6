#include "model/deepseek_v41/weights.h"

#include <fmt/format.h>

namespace deepinfer::model::deepseek_v41 {
namespace {

class Binder {
 public:
  Binder(const checkpoint::Checkpoint& checkpoint, Weights& out)
      : checkpoint_(checkpoint), config_(checkpoint.config()), out_(out) {}

  void run() {
    out_.embed = plain("embed.weight");
    out_.head = plain("head.weight");
    out_.norm = plain("norm.weight");
    for (std::int64_t i = 0; i < config_.num_hidden_layers; ++i) {
      out_.layers.push_back(layer(fmt::format("layers.{}.", i), i, config_.n_routed_experts));
    }
    const std::int64_t num_stages = config_.num_nextn_predict_layers;
    for (std::int64_t s = 0; s < num_stages; ++s) {
      out_.stages.push_back(
          layer(fmt::format("mtp.{}.", s), config_.num_hidden_layers + s, config_.dspark_n_routed_experts));
    }
    if (num_stages > 0) out_.draft = draft(fmt::format("mtp.{}.", num_stages - 1));
  }

 private:
  WeightRef plain(const std::string& name) const { return {name, checkpoint_.weight(name).ref()}; }

  // Codes and scales travel as plain bytes: kernels know the format, devices carry u8 (CS-02).
  WeightRef bytes(const std::string& name) const {
    WeightRef ref = plain(name);
    ref.tensor.type.dtype = DType::kU8;
    return ref;
  }
  Quantised quantised(const std::string& module) const { return {bytes(module + ".weight"), bytes(module + ".scale")}; }

  WeightRef stacked(const std::string& name, const std::string& prefix, const std::string& suffix, std::int64_t count) {
    auto table = std::make_unique<std::vector<const void*>>();
    TensorType slice;
    for (std::int64_t e = 0; e < count; ++e) {
      const checkpoint::WeightView& view = checkpoint_.weight(fmt::format("{}{}{}", prefix, e, suffix));
      slice = view.type;
      table->push_back(view.data);
    }
    const TensorType type{DType::kU8, {count, slice.shape[0], slice.shape[1]}};
    out_.segments.push_back(std::move(table));
    return {name, {type, nullptr, out_.segments.back()->data()}};
  }
  Quantised experts(const std::string& prefix, const std::string& matrix, std::int64_t count) {
    const std::string name = fmt::format("{}ffn.experts.{}", prefix, matrix);
    const std::string each = prefix + "ffn.experts.";
    return {stacked(name + ".weight", each, "." + matrix + ".weight", count),
            stacked(name + ".scale", each, "." + matrix + ".scale", count)};
  }

  HcSite site(const std::string& name) const {
    return {plain(name + "_fn"), plain(name + "_base"), plain(name + "_scale")};
  }

  Attention attention(const std::string& p, std::int64_t index) const {
    Attention a{.attn_sink = plain(p + "attn_sink"),
                .wq_a = quantised(p + "wq_a"),
                .wq_b = quantised(p + "wq_b"),
                .wkv = quantised(p + "wkv"),
                .wo_a = quantised(p + "wo_a"),
                .wo_b = quantised(p + "wo_b"),
                .q_norm = plain(p + "q_norm.weight"),
                .kv_norm = plain(p + "kv_norm.weight"),
                .compressor = nullptr,
                .indexer = nullptr};
    if (index >= config_.num_hidden_layers) return a;
    const bool owner = config_.is_kv_source(index);
    if (owner) {
      const std::string c = p + "compressor.";
      a.compressor = std::make_unique<Compressor>(
          Compressor{plain(c + "wkv.weight"), config_.ratio(index) > 1 ? plain(c + "wgate.weight") : WeightRef{},
                     plain(c + "norm.weight")});
    }
    if (config_.is_index_source(index)) {
      const std::string i = p + "indexer.";
      a.indexer = std::make_unique<Indexer>(Indexer{quantised(i + "wq_b"), plain(i + "weights_proj.weight"),
                                                    owner ? plain(i + "wk.weight") : WeightRef{},
                                                    owner ? plain(i + "k_norm.weight") : WeightRef{}});
    }
    return a;
  }

  Moe moe(const std::string& prefix, std::int64_t num_experts) {
    const std::string p = prefix + "ffn.";
    Moe m{.gate = plain(p + "gate.weight"),
          .bias = plain(p + "gate.bias"),
          .bias_vl = {},
          .w1 = experts(prefix, "w1", num_experts),
          .w3 = experts(prefix, "w3", num_experts),
          .w2 = experts(prefix, "w2", num_experts),
          .shared_w1 = quantised(p + "shared_experts.w1"),
          .shared_w3 = quantised(p + "shared_experts.w3"),
          .shared_w2 = quantised(p + "shared_experts.w2")};
    if (checkpoint_.find(p + "gate.bias_vl") != nullptr) m.bias_vl = plain(p + "gate.bias_vl");
    return m;
  }

  std::unique_ptr<Engram> engram(const std::string& p) const {
    return std::make_unique<Engram>(Engram{bytes(p + "embed.weight").tensor, bytes(p + "embed.scale").tensor,
                                           quantised(p + "wkv"), plain(p + "q_weight"), plain(p + "k_weight")});
  }

  Layer layer(const std::string& p, std::int64_t index, std::int64_t num_experts) {
    Layer l{.attn_norm = plain(p + "attn_norm.weight"),
            .ffn_norm = plain(p + "ffn_norm.weight"),
            .hc_attn = site(p + "hc_attn"),
            .hc_ffn = site(p + "hc_ffn"),
            .attn = attention(p + "attn.", index),
            .ffn = moe(p, num_experts),
            .engram = nullptr};
    if (index < config_.num_hidden_layers && config_.has_engram(index)) l.engram = engram(p + "engram.");
    return l;
  }

  std::unique_ptr<Draft> draft(const std::string& last) const {
    return std::make_unique<Draft>(Draft{quantised("mtp.0.main_proj"), plain("mtp.0.main_norm.weight"),
                                         plain(last + "norm.weight"), plain(last + "markov_head.embed.weight"),
                                         plain(last + "markov_head.head.weight"),
                                         plain(last + "confidence_head.proj.weight")});
  }

  const checkpoint::Checkpoint& checkpoint_;
  const checkpoint::ModelConfig& config_;
  Weights& out_;
};

}  // namespace

Weights bind_weights(const checkpoint::Checkpoint& checkpoint) {
  Weights out;
  Binder(checkpoint, out).run();
  return out;
}

}  // namespace deepinfer::model::deepseek_v41
