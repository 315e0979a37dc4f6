// Adapters of gemm_fp8, gemm_fp4, attention_out, moe and the norm-and-head case of head_sampler.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "ops/registry.h"
#include "tensor/numeric/transcendental.h"
#include "verify/kernel_case.h"
#include "verify/kernel_rope.h"

namespace deepinfer::verify {
namespace {

using graph::Word;
constexpr double kNormEps = 1e-20;  // of every RMSNorm of the model

graph::Attrs fp8_attrs() { return {{"wfmt", Word{"e4m3"}}}; }
graph::Attrs fp4_attrs() { return {{"wfmt", Word{"e2m1"}}, {"nb", std::int64_t{1}}}; }

Result<Tensor> slice(const Machine& machine, const Tensor& x, std::int64_t axis, std::int64_t begin, std::int64_t end) {
  return call_one(machine, ops::slice_def, {&x}, {{"axis", axis}, {"begin", begin}, {"end", end}});
}

// ---- block-scaled products ----

Result<CaseOutputs> gemm(const KernelCase& c, const graph::Attrs& attrs) {
  const Machine& m = c.machine();
  DI_ASSIGN(const std::int64_t rows, c.size("M", c.tensor("a").shape()[0]));
  DI_ASSIGN(const Tensor a, slice(m, c.tensor("a"), 0, 0, rows));
  DI_ASSIGN(const Tensor scale, slice(m, c.tensor("a_scale"), 0, 0, rows));
  CaseOutputs out;
  DI_ASSIGN(out.tensors["c"], call_one(m, ops::linear_blockquant_def,
                                       {&a, &scale, &c.tensor("b"), &c.tensor("b_scale")}, attrs));
  return out;
}
Result<CaseOutputs> gemm_fp8(const KernelCase& c) { return gemm(c, fp8_attrs()); }
Result<CaseOutputs> gemm_fp4(const KernelCase& c) { return gemm(c, fp4_attrs()); }

/// out[t, j] = product[ids[t, j]][t]: the rows of one [T, N] result an expert.
Result<Tensor> by_slot(const std::vector<Tensor>& product, const Tensor& ids) {
  const std::int64_t tokens = ids.shape()[0];
  const std::int64_t top = ids.shape()[1];
  const std::int64_t width = product.at(0).shape()[1];
  Tensor out(DType::kBF16, {tokens, top, width});
  for (std::int64_t i = 0; i < tokens * top; ++i) {
    const std::int64_t expert = ids.as<std::int32_t>()[i];
    if (expert < 0 || expert >= std::ssize(product)) {
      return errorf(ErrorCode::kDataCorruption, "expert {} of {}", expert, product.size());
    }
    std::copy_n(product[static_cast<std::size_t>(expert)].as<BF16>() + i / top * width, width,
                out.as<BF16>() + i * width);
  }
  return out;
}

Result<CaseOutputs> gemm_grouped(const KernelCase& c) {
  std::vector<Tensor> product;
  for (std::int64_t e = 0; e < c.tensor("b").shape()[0]; ++e) {
    const Tensor w = slice_at(c.tensor("b"), e);
    const Tensor ws = slice_at(c.tensor("b_scale"), e);
    DI_ASSIGN(product.emplace_back(), call_one(c.machine(), ops::linear_blockquant_def,
                                               {&c.tensor("a"), &c.tensor("a_scale"), &w, &ws}, fp4_attrs()));
  }
  CaseOutputs out;
  DI_ASSIGN(out.tensors["c"], by_slot(product, c.tensor("expert_ids")));
  return out;
}

// ---- attention output ----

Result<CaseOutputs> grouped_projection(const KernelCase& c) {
  const Machine& m = c.machine();
  const Tensor& o = c.tensor("o");
  const RopeRows rope = rope_rows(compressed_rope(), c.tensor("positions"));
  DI_ASSIGN(Tensor unrotated, call_one(m, ops::rope_def, {&o, &rope.cos, &rope.sin}, {{"conjugate", true}}));
  const std::int64_t tokens = o.shape()[0];
  DI_ASSIGN(const std::int64_t groups, c.size("groups", 1));
  DI_ASSIGN(const std::int64_t rank, c.size("rank", c.tensor("wo_a").shape()[0]));
  const std::int64_t width = c.tensor("wo_a").shape()[1];
  const Tensor flat = reshaped(unrotated, {tokens, o.type().num_elements() / tokens});
  Tensor z(DType::kBF16, {tokens, groups * rank});
  for (std::int64_t g = 0; g < groups; ++g) {
    DI_ASSIGN(const Tensor x, slice(m, flat, 1, g * width, (g + 1) * width));
    DI_ASSIGN(const Tensor w, slice(m, c.tensor("wo_a"), 0, g * rank, (g + 1) * rank));
    DI_ASSIGN(const Tensor part, call_one(m, ops::linear_bf16_def, {&x, &w}, {{"out", DType::kBF16}}));
    for (std::int64_t t = 0; t < tokens; ++t) {
      std::copy_n(part.as<BF16>() + t * rank, rank, z.as<BF16>() + (t * groups + g) * rank);
    }
  }
  CaseOutputs out;
  out.tensors.emplace("unrotated", std::move(unrotated));
  out.tensors.emplace("z", std::move(z));
  return out;
}

// ---- experts ----

Result<Tensor> routed_ids(const KernelCase& c, const Tensor& scores, std::int64_t top, Tensor& weights) {
  const Shape rows{scores.shape()[0]};
  const Tensor valid = filled_s32(rows, 1);
  const Tensor none = filled_s32(rows, 0);
  const Tensor image = to_s32(c.tensor("is_image"));
  DI_ASSIGN(std::vector<Tensor> out,
            call_op(c.machine(), ops::gate_topk_def,
                    {&scores, &c.tensor("bias"), &valid, &none, &none, &c.tensor("bias_image"), &image},
                    {{"k", top}, {"route_scale", c.number("scale", 1)}, {"layer", std::int64_t{0}}}));
  weights = std::move(out[1]);
  return std::move(out[0]);
}

/// The op lists its choice by ascending id, the vectors by falling rank: rank j is what top-(j+1) adds to top-j.
Result<CaseOutputs> router(const KernelCase& c) {
  CaseOutputs out;
  DI_ASSIGN(Tensor scores, call_one(c.machine(), ops::gate_scores_def, {&c.tensor("x"), &c.tensor("weight")}));
  DI_ASSIGN(const std::int64_t top, c.size("top", 1));
  const std::int64_t tokens = scores.shape()[0];
  Tensor ranked(DType::kS32, {tokens, top});
  Tensor ranked_weights(DType::kF32, {tokens, top});
  Tensor weights;
  DI_ASSIGN(const Tensor chosen, routed_ids(c, scores, top, weights));
  for (std::int64_t k = 1; k <= top; ++k) {
    Tensor unused;
    DI_ASSIGN(const Tensor ids, routed_ids(c, scores, k, unused));
    for (std::int64_t t = 0; t < tokens; ++t) {
      std::int32_t* row = ranked.as<std::int32_t>() + t * top;
      const std::span<const std::int32_t> now(ids.as<std::int32_t>() + t * k, static_cast<std::size_t>(k));
      row[k - 1] = *std::ranges::find_if(
          now, [&](std::int32_t id) { return std::find(row, row + k - 1, id) == row + k - 1; });
      const std::int32_t* all = chosen.as<std::int32_t>() + t * top;
      const std::int64_t at = std::find(all, all + top, row[k - 1]) - all;
      DI_CHECK(at < top, "expert {} is in the top {} and not in the top {}", row[k - 1], k, top);
      ranked_weights.as<float>()[t * top + k - 1] = weights.as<float>()[t * top + at];
    }
  }
  out.tensors.emplace("scores", std::move(scores));
  out.tensors.emplace("ids", std::move(ranked));
  out.tensors.emplace("weights", std::move(ranked_weights));
  return out;
}

Result<CaseOutputs> root_of_softplus(const KernelCase& c) {
  CaseOutputs out;
  out.tensors.emplace("y", mapped<float, float>(c.tensor("x"), DType::kF32, [](float x) {
    return numeric::sqrt_f64(numeric::softplus_f64(x));
  }));
  return out;
}

/// One token an element, because every element has its own weight.
Result<CaseOutputs> swiglu(const KernelCase& c) {
  const graph::Attrs attrs{{"limit", c.number("limit", 0)}};
  const Shape flat = c.tensor("gate").shape();
  const Tensor gate = reshaped(c.tensor("gate"), {flat[0], 1});
  const Tensor up = reshaped(c.tensor("up"), {flat[0], 1});
  DI_ASSIGN(const Tensor plain, call_one(c.machine(), ops::swiglu_def, {&gate, &up}, attrs));
  DI_ASSIGN(const Tensor weighted,
            call_one(c.machine(), ops::swiglu_def, {&gate, &up, &c.tensor("weight")}, attrs));
  CaseOutputs out;
  out.tensors.emplace("plain", reshaped(plain, flat));
  out.tensors.emplace("weighted", reshaped(weighted, flat));
  return out;
}

struct Quantised {
  Tensor codes;
  Tensor scales;
};
Result<Quantised> quantise(const Machine& machine, const Tensor& x) {
  DI_ASSIGN(std::vector<Tensor> out, call_op(machine, ops::quant_act_def, {&x}));
  return Quantised{std::move(out[0]), std::move(out[1])};
}
Result<Tensor> linear(const KernelCase& c, const Quantised& x, const std::string& weight, const graph::Attrs& attrs) {
  return call_one(c.machine(), ops::linear_blockquant_def,
                  {&x.codes, &x.scales, &c.tensor(weight), &c.tensor(weight + ".scale")}, attrs);
}

/// Every expert on every token, step by step.
struct ExpertSteps {
  std::vector<Tensor> gate, up, hidden, out;
};
/// Routing weight of one expert for every token; 0 where it is not chosen.
Tensor weights_of(const Tensor& dense, std::int64_t expert) {
  Tensor out(DType::kF32, {dense.shape()[0]});
  for (std::int64_t t = 0; t < dense.shape()[0]; ++t) {
    out.as<float>()[t] = dense.as<float>()[t * dense.shape()[1] + expert];
  }
  return out;
}
Status add_expert(const KernelCase& c, const Quantised& x, const Tensor& dense, std::int64_t e, ExpertSteps& steps) {
  const std::string name = fmt::format("e{}.", e);
  const Tensor weight = weights_of(dense, e);
  DI_ASSIGN(Tensor gate, linear(c, x, name + "w1", fp4_attrs()));
  DI_ASSIGN(Tensor up, linear(c, x, name + "w3", fp4_attrs()));
  DI_ASSIGN(Tensor hidden, call_one(c.machine(), ops::swiglu_def, {&gate, &up, &weight},
                                    {{"limit", c.number("limit", 0)}}));
  DI_ASSIGN(const Quantised q, quantise(c.machine(), hidden));
  DI_ASSIGN(steps.out.emplace_back(), linear(c, q, name + "w2", fp4_attrs()));
  steps.gate.push_back(std::move(gate));
  steps.up.push_back(std::move(up));
  steps.hidden.push_back(std::move(hidden));
  return {};
}

/// e0.<matrix>, e1.<matrix>, ... as one [E, ...] tensor.
Tensor stacked(const KernelCase& c, const std::string& matrix, std::int64_t experts) {
  const Shape& one = c.tensor("e0." + matrix).shape();
  Tensor out(DType::kU8, {experts, one[0], one[1]});
  for (std::int64_t e = 0; e < experts; ++e) {
    const Tensor& part = c.tensor(fmt::format("e{}.{}", e, matrix));
    DI_CHECK(part.shape() == one, "matrices {} differ in shape", matrix);
    std::copy_n(part.as<std::uint8_t>(), one.num_elements(), out.as<std::uint8_t>() + e * one.num_elements());
  }
  return out;
}

Result<Tensor> routed_sum(const KernelCase& c, const Quantised& x, const Tensor& dense) {
  const std::int64_t experts = dense.shape()[1];
  std::vector<Tensor> matrices;
  for (const char* matrix : {"w1", "w1.scale", "w3", "w3.scale", "w2", "w2.scale"}) {
    matrices.push_back(stacked(c, matrix, experts));
  }
  return call_one(c.machine(), ops::moe_experts_dense_def,
                  {&x.codes, &x.scales, &dense, &matrices[0], &matrices[1], &matrices[2], &matrices[3], &matrices[4],
                   &matrices[5]},
                  {{"limit", c.number("limit", 0)}});
}

Result<Tensor> shared_expert(const KernelCase& c, const Quantised& x) {
  DI_ASSIGN(const Tensor gate, linear(c, x, "shared.w1", fp8_attrs()));
  DI_ASSIGN(const Tensor up, linear(c, x, "shared.w3", fp8_attrs()));
  DI_ASSIGN(const Tensor hidden,
            call_one(c.machine(), ops::swiglu_def, {&gate, &up}, {{"limit", c.number("limit", 0)}}));
  DI_ASSIGN(const Quantised q, quantise(c.machine(), hidden));
  return linear(c, q, "shared.w2", fp8_attrs());
}

Result<Tensor> sum_with_shared(const Machine& m, const Tensor& routed, const Tensor& shared) {
  DI_ASSIGN(const Tensor wide, call_one(m, ops::convert_def, {&shared}, {{"to", DType::kF32}}));
  DI_ASSIGN(const Tensor sum, call_one(m, ops::add_def, {&routed, &wide}));
  return call_one(m, ops::convert_def, {&sum}, {{"to", DType::kBF16}});
}

Result<CaseOutputs> moe_layer(const KernelCase& c) {
  DI_ASSIGN(const std::int64_t experts, c.size("experts", 1));
  const Tensor& ids = c.tensor("ids");
  DI_ASSIGN(const Tensor dense, call_one(c.machine(), ops::gate_dense_def, {&ids, &c.tensor("weights")},
                                         {{"first_expert", std::int64_t{0}}, {"num_local", experts}}));
  DI_ASSIGN(const Quantised x, quantise(c.machine(), c.tensor("x")));
  ExpertSteps steps;
  for (std::int64_t e = 0; e < experts; ++e) DI_TRY(add_expert(c, x, dense, e, steps));
  CaseOutputs out;
  DI_ASSIGN(out.tensors["gate"], by_slot(steps.gate, ids));
  DI_ASSIGN(out.tensors["up"], by_slot(steps.up, ids));
  DI_ASSIGN(out.tensors["hidden"], by_slot(steps.hidden, ids));
  DI_ASSIGN(out.tensors["expert_out"], by_slot(steps.out, ids));
  DI_ASSIGN(const Tensor routed, routed_sum(c, x, dense));
  DI_ASSIGN(Tensor shared, shared_expert(c, x));
  DI_ASSIGN(out.tensors["y"], sum_with_shared(c.machine(), routed, shared));
  out.tensors.emplace("shared_out", std::move(shared));
  return out;
}

// ---- head ----

/// The logits start from the stored `normed`, as their truth does.
Result<CaseOutputs> final_norm_and_head(const KernelCase& c) {
  CaseOutputs out;
  DI_ASSIGN(out.tensors["normed"], call_one(c.machine(), ops::rmsnorm_def, {&c.tensor("h"), &c.tensor("norm")},
                                            {{"eps", kNormEps}}));
  DI_ASSIGN(out.tensors["logits"],
            call_one(c.machine(), ops::lm_head_def, {&c.tensor("normed"), &c.tensor("weight")}));
  return out;
}

}  // namespace

std::span<const KernelAdapter> product_adapters() {
  constexpr DType kU8 = DType::kU8;
  constexpr DType kBF16 = DType::kBF16;
  constexpr DType kF32 = DType::kF32;
  constexpr DType kS32 = DType::kS32;
  static const std::vector<InputSpec> gemm_inputs = {
      {"a", kU8, 2}, {"a_scale", kU8, 2}, {"b", kU8, 2}, {"b_scale", kU8, 2}};
  static const std::vector<KernelAdapter> adapters = {
      {"fp8_gemm", gemm_inputs, gemm_fp8},
      {"fp4_gemm", gemm_inputs, gemm_fp4},
      {"fp4_gemm grouped by expert",
       {{"a", kU8, 2}, {"a_scale", kU8, 2}, {"b", kU8, 3}, {"b_scale", kU8, 3}, {"expert_ids", kS32, 2}},
       gemm_grouped},
      {"inverse rotation and grouped output projection",
       {{"o", kBF16, 3}, {"wo_a", kBF16, 2}, {"positions", DType::kS64, 1}},
       grouped_projection},
      {"router",
       {{"x", kBF16, 2}, {"weight", kBF16, 2}, {"bias", kF32, 1}, {"bias_image", kF32, 1}, {"is_image", kU8, 1}},
       router},
      {"sqrt of softplus", {{"x", kF32, 2}}, root_of_softplus},
      {"swiglu with clamps", {{"gate", kBF16, 1}, {"up", kBF16, 1}, {"weight", kF32, 1}}, swiglu},
      {"routed experts plus shared expert",
       {{"x", kBF16, 2}, {"ids", kS32, 2}, {"weights", kF32, 2}, {"e0.w1", kU8, 2}, {"shared.w1", kU8, 2}},
       moe_layer},
      {"final norm and head", {{"h", kBF16, 2}, {"norm", kBF16, 1}, {"weight", kBF16, 2}, {"normed", kBF16, 2}},
       final_norm_and_head},
  };
  return adapters;
}

}  // namespace deepinfer::verify
