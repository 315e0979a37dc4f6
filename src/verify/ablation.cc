// Leaves single ingredients of the model out, to show that the golden checks would notice.
//
// An `AblatedEmitter` computes like the eager one but changes one kind of node: drops an operand, overwrites a result,
// changes an attribute. Nothing in the model knows about it. Three ingredients concern what packed records cannot hold
// (caches without their quantiser); for these the emitter keeps the unrounded rows and evaluates the consumer from
// them.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "base/error.h"
#include "ops/grouped_einsum/grouped_einsum.h"
#include "ops/primitives/primitives.h"
#include "ops/quant_act/quant_format.h"
#include "tensor/numeric/range.h"
#include "tensor/numeric/rope_table.h"
#include "verify/model_checks.h"

namespace deepinfer::verify {
namespace {

using graph::OpDef;
using graph::Value;

enum class Ingredient : std::uint8_t {
  kEngramOff,
  kEngramWeights,
  kNoCompressed,
  kNewestRows,
  kNoCandidates,
  kNoSink,
  kNoInverseRotation,
  kWindowExact,
  kCompressedExact,
  kIndexExact,
  kScoresF32,
  kDenseExact,
  kFp4Experts,
  kNoRouterBias,
  kNoRouteScale,
  kNoRouted,
  kNoShared,
  kNoClamps,
  kCombIdentity,
  kCombTransposed,
  kPostOne,
  kPreOneHot,
  kOneSinkhorn,
  kNoYarn,
  kMainRotation,
  kMeanPooling,
  kNormOne,
  kNoConditioning,
  kCausalDraft,
  kOtherNoise,
  kNoMarkov,
};

constexpr std::pair<std::string_view, Ingredient> kNames[] = {
    {"Engram off", Ingredient::kEngramOff},
    {"Engram q/k weights 1", Ingredient::kEngramWeights},
    {"no compressed rows", Ingredient::kNoCompressed},
    {"newest rows instead of the selected", Ingredient::kNewestRows},
    {"no candidate mask", Ingredient::kNoCandidates},
    {"no attention sink", Ingredient::kNoSink},
    {"no inverse rotation", Ingredient::kNoInverseRotation},
    {"window KV not quantised", Ingredient::kWindowExact},
    {"compressed KV not quantised", Ingredient::kCompressedExact},
    {"index q/k not quantised", Ingredient::kIndexExact},
    {"index scores in F32", Ingredient::kScoresF32},
    {"dense activations not quantised", Ingredient::kDenseExact},
    {"FP4 activations for the experts", Ingredient::kFp4Experts},
    {"router bias 0", Ingredient::kNoRouterBias},
    {"routing weights not scaled", Ingredient::kNoRouteScale},
    {"routed experts off", Ingredient::kNoRouted},
    {"shared expert off", Ingredient::kNoShared},
    {"SwiGLU clamps off", Ingredient::kNoClamps},
    {"comb identity", Ingredient::kCombIdentity},
    {"comb transposed", Ingredient::kCombTransposed},
    {"post 1", Ingredient::kPostOne},
    {"pre one-hot", Ingredient::kPreOneHot},
    {"one Sinkhorn round", Ingredient::kOneSinkhorn},
    {"no YaRN", Ingredient::kNoYarn},
    {"main rotation table on compressed layers", Ingredient::kMainRotation},
    {"mean pooling in the compressor", Ingredient::kMeanPooling},
    {"norm weights 1", Ingredient::kNormOne},
    {"no conditioning on the target", Ingredient::kNoConditioning},
    {"causal draft block", Ingredient::kCausalDraft},
    {"other noise token", Ingredient::kOtherNoise},
    {"no Markov bias", Ingredient::kNoMarkov},
};

Tensor filled(const TensorType& type, float value) {
  Tensor out(type);
  for (std::int64_t i = 0; i < type.num_elements(); ++i) {
    if (type.dtype == DType::kBF16) out.as<BF16>()[i] = to_bf16(value);
    if (type.dtype == DType::kF32) out.as<float>()[i] = value;
    if (type.dtype == DType::kS32) out.as<std::int32_t>()[i] = static_cast<std::int32_t>(value);
  }
  return out;
}

// Softmax attention with a sink in plain fp32 over unrounded rows [n, dim].
void plain_attention(const BF16* q, const std::vector<const float*>& rows, float sink, float scale, std::int64_t dim,
                     BF16* out) {
  std::vector<float> scores;
  float top = -1e30F;
  for (const float* row : rows) {
    float dot = 0;
    for (std::int64_t d = 0; d < dim; ++d) dot += to_float(q[d]) * row[d];
    scores.push_back(dot * scale);
    top = std::max(top, scores.back());
  }
  float denominator = std::exp(sink - top);
  std::vector<float> sum(static_cast<std::size_t>(dim), 0.0F);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const float p = std::exp(scores[i] - top);
    denominator += p;
    for (std::int64_t d = 0; d < dim; ++d) sum[static_cast<std::size_t>(d)] += round_bf16(p) * rows[i][d];
  }
  for (std::int64_t d = 0; d < dim; ++d) out[d] = to_bf16(sum[static_cast<std::size_t>(d)] / denominator);
}

class AblatedEmitter : public graph::EagerEmitter {
 public:
  AblatedEmitter(const graph::KernelContext& ctx, const graph::Bindings& bindings, Ingredient ingredient,
                 const checkpoint::ModelConfig& config)
      : EagerEmitter(ctx, bindings), ingredient_(ingredient), config_(config) {}

  Value host(std::string_view name, const TensorType& type, std::optional<graph::InputRange> range = {}) override {
    const bool table = name.find("rope_compress_") != name.npos || name.find("rope_group") != name.npos;
    if (table && is(Ingredient::kNoYarn)) return rotation(name, type, config_.compress_rope_theta);
    if (table && is(Ingredient::kMainRotation)) return rotation(name, type, config_.rope_theta);
    Value value = EagerEmitter::host(name, type, range);
    if (name == "window_count" && (is(Ingredient::kCausalDraft))) return causal_counts(value);
    if (name == "input_ids" && is(Ingredient::kOtherNoise)) return other_noise(value);
    return value;
  }

 protected:
  std::vector<Value> emit_node(const OpDef& op, std::span<const Value> operands, graph::Attrs attrs,
                               std::vector<TensorType> results, NodeSite site) override {
    std::vector<Value> in(operands.begin(), operands.end());
    remember(op, in, site);
    if (auto replaced = replace(op, in, attrs, site)) return *replaced;
    change(op, in, attrs);
    if (op.name.starts_with("index_score") && is(Ingredient::kScoresF32)) results[0].dtype = DType::kF32;
    std::vector<Value> out = EagerEmitter::emit_node(op, in, std::move(attrs), std::move(results), site);
    overwrite(op, in, out);
    if (op.name == "quant_act" && is(Ingredient::kDenseExact)) sources_[out[0].node().get()] = in[0];
    if (op.name == "rope") exact_[site.path] = out[0];
    return out;
  }

 private:
  bool is(Ingredient ingredient) const { return ingredient_ == ingredient; }
  Value fill(const Value& like, float value) { return constant(filled(like.type(), value)); }
  template <typename T>
  T* writable(const Value& value) const {
    return static_cast<T*>(const_cast<void*>(read(value).data));
  }

  // Angles of a one-shot prefill: row t is position t, group j starts at j * ratio.
  Value rotation(std::string_view name, const TensorType& type, double base) {
    const std::vector<float> frequencies = numeric::rope_frequencies({.dim = config_.qk_rope_head_dim, .base = base});
    const std::size_t group = name.find("rope_group");
    const std::int64_t step = group == name.npos ? 1 : name[group + 10] - '0';
    Tensor cos(type);
    Tensor sin(type);
    for (std::int64_t t = 0; t < type.shape[0]; ++t) {
      numeric::rope_row(frequencies, t * step, cos.as<float>() + t * type.shape[1],
                        sin.as<float>() + t * type.shape[1]);
    }
    return constant(name.ends_with("_cos") ? cos : sin);
  }

  Value causal_counts(const Value& counts) {
    Tensor out = copy(counts);
    const std::int64_t block = config_.dspark_block_size;
    for (std::int64_t t = 0; t < out.type().num_elements(); ++t)
      out.as<std::int32_t>()[t] -= static_cast<std::int32_t>(block - 1 - t % block);
    return constant(out);
  }

  Value other_noise(const Value& ids) {
    Tensor out = copy(ids);
    for (std::int32_t& id : out.span<std::int32_t>()) {
      if (id == config_.dspark_noise_token_id) id = 3;
    }
    return constant(out);
  }

  void remember(const OpDef& op, const std::vector<Value>& in, const NodeSite& site) {
    // kv_pack reads rows that were rotated last; index queries reach their quantiser through a reshape.
    if (op.name == "kv_pack") exact_[site.path] = in[0];
    if (op.name == "quant_act") exact_[site.path] = in[0];
  }

  /// Results that stand for the whole node.
  std::optional<std::vector<Value>> replace(const OpDef& op, const std::vector<Value>& in, const graph::Attrs& attrs,
                                            const NodeSite& site) {
    if (op.name == "engram_gate" && is(Ingredient::kEngramOff)) return std::vector{in[0]};
    if (op.name == "rope" && is(Ingredient::kNoInverseRotation) && attrs.boolean("conjugate"))
      return std::vector{in[0]};
    if (op.name == "add" && is(Ingredient::kNoMarkov) && site.path == "draft.logits") return std::vector{in[0]};
    if (op.name == "linear_blockquant" && is(Ingredient::kDenseExact)) return dense_exact(in);
    const bool attention = op.name == "sparse_attn_varlen";
    if (attention && (is(Ingredient::kWindowExact) || is(Ingredient::kCompressedExact)))
      return attention_exact(in, attrs, site);
    if (op.name == "index_score_varlen" && is(Ingredient::kIndexExact)) return scores_exact(in, attrs, site);
    return std::nullopt;
  }

  // x times the decoded weight: what grouped_einsum does with one group.
  std::optional<std::vector<Value>> dense_exact(const std::vector<Value>& in) {
    const auto source = sources_.find(in[0].node().get());
    if (source == sources_.end()) return std::nullopt;
    const Shape& shape = source->second.shape();
    const Value x = ops::reshape(*this, source->second, {shape[0], 1, shape[1]});
    const Value y = ops::grouped_einsum(*this, x, {.w = in[2], .ws = in[3]});
    return std::vector{ops::reshape(*this, y, {shape[0], y.shape()[2]})};
  }

  std::vector<float> exact_rows(const std::string& path) const {
    const auto it = exact_.find(path);
    return it == exact_.end() ? std::vector<float>{} : to_floats(read(it->second));
  }

  // One-shot prefill: row i of the window buffer is token i, selected row j is compressed row j.
  std::vector<Value> attention_exact(const std::vector<Value>& in, const graph::Attrs& attrs, const NodeSite& site) {
    const std::string attn = site.path.substr(0, site.path.rfind('.'));
    const bool has_selection = in.size() > 5;
    const std::int64_t dim = in[0].shape()[2];
    const std::vector<float> window =
        rows_or_records(attn + ".window_records", is(Ingredient::kWindowExact), ops::QuantFormat::kAct32, dim);
    const auto layer = std::stoll(attn.substr(attn.find('.') + 1));
    const std::string owner =
        has_selection ? fmt::format("layers.{}.attn.compress_records", config_.kv_source(layer)) : "";
    const std::vector<float> selected =
        has_selection ? rows_or_records(owner, is(Ingredient::kCompressedExact), ops::QuantFormat::kFp4x16, dim)
                      : std::vector<float>{};
    const std::int64_t heads = in[0].shape()[1];
    Tensor out(in[0].type());
    const auto* index = read(in[2]).as<std::int32_t>();
    const auto* count = read(in[3]).as<std::int32_t>();
    const float* sink = read(in.back()).as<float>();
    for (std::int64_t t = 0; t < in[0].shape()[0]; ++t) {
      std::vector<const float*> rows;
      for (std::int64_t i = 0; i < count[t]; ++i) rows.push_back(window.data() + index[t * in[2].shape()[1] + i] * dim);
      for (std::int64_t i = 0; has_selection && i < read(in[8]).as<std::int32_t>()[t]; ++i) {
        rows.push_back(selected.data() + read(in[7]).as<std::int32_t>()[t * in[7].shape()[1] + i] * dim);
      }
      for (std::int64_t h = 0; h < heads; ++h) {
        const std::int64_t at = (t * heads + h) * dim;
        plain_attention(read(in[0]).as<BF16>() + at, rows, sink[h], static_cast<float>(attrs.real("scale")), dim,
                        out.as<BF16>() + at);
      }
    }
    return {constant(out)};
  }

  std::vector<float> rows_or_records(const std::string& path, bool exact, ops::QuantFormat format,
                                     std::int64_t dim) const {
    std::vector<float> rows = exact_rows(path);
    if (exact) return rows;
    // The quantiser is idempotent in value: rounding the kept rows gives what the records hold.
    for (std::size_t r = 0; r < rows.size(); r += static_cast<std::size_t>(dim)) {
      std::vector<BF16> row;
      for (std::int64_t d = 0; d < dim; ++d) row.push_back(to_bf16(rows[r + static_cast<std::size_t>(d)]));
      std::vector<std::uint8_t> record(static_cast<std::size_t>(ops::record_bytes(format, dim)));
      std::uint8_t* scales = record.data() + ops::code_bytes(format, dim);
      ops::quantise(format, row, numeric::kE4M3FnMax, record.data(), scales);
      ops::dequantise(format, record.data(), scales, dim, rows.data() + r);
    }
    return rows;
  }

  std::vector<Value> scores_exact(const std::vector<Value>& in, const graph::Attrs& attrs, const NodeSite& site) {
    const std::string index = site.path.substr(0, site.path.rfind('.'));
    const auto layer = std::stoll(index.substr(index.find('.') + 1));
    const std::int64_t heads = attrs.integer("heads");
    const std::int64_t dim = config_.index_head_dim;
    const std::vector<float> q = exact_rows(index + ".q");
    const std::vector<float> keys = exact_rows(fmt::format("layers.{}.attn.key_records", config_.kv_source(layer)));
    const std::vector<float> weights = to_floats(read(in[5]));
    const auto* visible = read(in[6]).as<std::int32_t>();
    const std::int64_t rows = in[3].shape()[1] * attrs.integer("rows");
    Tensor out = filled({DType::kBF16, {in[0].shape()[0], rows}}, -1e30F);
    for (std::int64_t t = 0; t < out.shape()[0]; ++t) {
      for (std::int64_t j = 0; j < visible[t]; ++j) {
        float sum = 0;
        for (std::int64_t h = 0; h < heads; ++h) {
          float dot = 0;
          for (std::int64_t d = 0; d < dim; ++d)
            dot += q[static_cast<std::size_t>((t * heads + h) * dim + d)] * keys[static_cast<std::size_t>(j * dim + d)];
          sum += round_bf16(std::max(round_bf16(dot), 0.0F) * weights[static_cast<std::size_t>(t * heads + h)]);
        }
        out.as<BF16>()[t * rows + j] = to_bf16(sum);
      }
    }
    return {constant(out)};
  }

  /// Changed operands and attributes.
  void change(const OpDef& op, std::vector<Value>& in, graph::Attrs& attrs) {
    if (op.name == "engram_gate" && is(Ingredient::kEngramWeights)) in[2] = in[3] = fill(in[2], 1);
    if (op.name == "sparse_attn_varlen" && in.size() > 5 && is(Ingredient::kNoCompressed)) in[8] = fill(in[8], 0);
    if (op.name.starts_with("sparse_attn") && is(Ingredient::kNoSink)) in.back() = fill(in.back(), -1e30F);
    if (op.name == "index_score_varlen" && in.size() == 9 && is(Ingredient::kNoCandidates)) in.resize(7);
    if (op.name.starts_with("index_score") && is(Ingredient::kScoresF32)) attrs.set("precision", graph::Word{"fp32"});
    if (op.name == "gate_topk" && is(Ingredient::kNoRouterBias)) in[1] = fill(in[1], 0);
    if (op.name == "gate_topk" && is(Ingredient::kNoRouteScale)) attrs.set("route_scale", 1.0);
    if ((op.name == "swiglu" || op.name == "moe_experts_dense") && is(Ingredient::kNoClamps)) attrs.set("limit", 0.0);
    if (op.name == "hc_mixes" && is(Ingredient::kOneSinkhorn)) attrs.set("iters", std::int64_t{1});
    if (op.name == "compress_pool_varlen" && is(Ingredient::kMeanPooling)) in[1] = fill(in[1], 0);
    if (op.name == "rmsnorm" && is(Ingredient::kNormOne)) in[1] = fill(in[1], 1);
    if (op.name == "moe_experts_dense" && is(Ingredient::kFp4Experts)) coarsen(in);
  }

  // Activations on the fp4 grid: exact in e4m3 codes, so the expert kernel runs unchanged on coarser values.
  void coarsen(std::vector<Value>& in) {
    const std::int64_t rows = in[0].shape()[0];
    const std::int64_t n = in[0].shape()[1];
    Tensor codes = copy(in[0]);
    Tensor scales = copy(in[1]);
    std::vector<float> values(static_cast<std::size_t>(n));
    std::vector<BF16> row(static_cast<std::size_t>(n));
    std::vector<std::uint8_t> packed(static_cast<std::size_t>(n));
    for (std::int64_t t = 0; t < rows; ++t) {
      std::uint8_t* c = codes.as<std::uint8_t>() + t * n;
      std::uint8_t* s = scales.as<std::uint8_t>() + t * n / 32;
      ops::dequantise(ops::QuantFormat::kAct32, c, s, n, row.data());
      ops::quantise(ops::QuantFormat::kFp4x32, row, 0, packed.data(), packed.data() + n / 2);
      ops::dequantise(ops::QuantFormat::kFp4x32, packed.data(), packed.data() + n / 2, n, row.data());
      ops::quantise(ops::QuantFormat::kAct32, row, numeric::kE4M3FnMax, c, s);
    }
    in[0] = constant(codes);
    in[1] = constant(scales);
  }

  /// Changed results.
  void overwrite(const OpDef& op, const std::vector<Value>& in, std::vector<Value>& out) {
    if (op.name == "hc_mixes") overwrite_mixes(out);
    if (op.name == "moe_experts_dense" && is(Ingredient::kNoRouted)) out[0] = fill(out[0], 0);
    if (op.name == "convert" && is(Ingredient::kNoShared) && out[0].type().dtype == DType::kF32)
      out[0] = fill(out[0], 0);
    if (op.name == "state_gather" && is(Ingredient::kNoConditioning) && path().starts_with("mtp."))
      out[0] = constant(Tensor::zeros(out[0].type()));
    if (op.name != "topk_select" || !is(Ingredient::kNewestRows)) return;
    const auto* visible = read(in[1]).as<std::int32_t>();
    const std::int64_t k = out[0].shape()[1];
    for (std::int64_t t = 0; t < out[0].shape()[0]; ++t) {
      const std::int64_t count = std::min<std::int64_t>(k, visible[t]);
      for (std::int64_t i = 0; i < count; ++i)
        writable<std::int32_t>(out[0])[t * k + i] = static_cast<std::int32_t>(visible[t] - count + i);
      writable<std::int32_t>(out[1])[t] = static_cast<std::int32_t>(count);
    }
  }

  void overwrite_mixes(std::vector<Value>& out) {
    const std::int64_t s = out[0].shape()[1];
    float* pre = writable<float>(out[0]);
    float* post = writable<float>(out[1]);
    float* comb = writable<float>(out[2]);
    for (std::int64_t t = 0; t < out[0].shape()[0]; ++t) {
      for (std::int64_t j = 0; j < s; ++j) {
        if (is(Ingredient::kPreOneHot)) pre[t * s + j] = j == 0 ? 1.0F : 0.0F;
        if (is(Ingredient::kPostOne)) post[t * s + j] = 1;
        for (std::int64_t k = 0; k < s; ++k) {
          if (is(Ingredient::kCombIdentity)) comb[(t * s + j) * s + k] = j == k ? 1.0F : 0.0F;
          if (is(Ingredient::kCombTransposed) && j < k) std::swap(comb[(t * s + j) * s + k], comb[(t * s + k) * s + j]);
        }
      }
    }
  }

  Ingredient ingredient_;
  const checkpoint::ModelConfig& config_;
  std::map<std::string, Value> exact_;           // rows before their quantiser, by node path
  std::map<const Value::Node*, Value> sources_;  // codes -> the activation they come from
};

}  // namespace

std::vector<std::string> ablation_names() {
  std::vector<std::string> out;
  for (const auto& [name, ingredient] : kNames) out.emplace_back(name);
  return out;
}

Result<AblationScope> AblationScope::start(const std::string& name, engine::ModelRunner& runner) {
  AblationScope scope;
  if (name.empty()) return scope;
  for (const auto& [known, ingredient] : kNames) {
    if (known != name) continue;
    const checkpoint::ModelConfig& config = runner.model().config();
    runner.set_emitter_factory([ingredient, &config](const graph::KernelContext& ctx, const graph::Bindings& bindings) {
      return std::make_unique<AblatedEmitter>(ctx, bindings, ingredient, config);
    });
    scope.runner_ = &runner;
    return scope;
  }
  return errorf(ErrorCode::kInvalidArgument, "ablation \"{}\" is not one of {}", name,
                fmt::join(ablation_names(), ", "));
}

AblationScope::~AblationScope() {
  if (runner_ != nullptr) runner_->set_emitter_factory({});
}

}  // namespace deepinfer::verify
