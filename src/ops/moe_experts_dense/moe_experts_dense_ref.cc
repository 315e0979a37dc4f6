#include <algorithm>
#include <cmath>
#include <vector>

#include "ops/moe_experts_dense/moe_experts_dense_kernels.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/quantise.h"

namespace deepinfer::ops {
namespace {

double round_to_bf16(double x) { return double{round_bf16(static_cast<float>(x))}; }

double decode_act(const std::uint8_t* codes, const std::uint8_t* scales, std::int64_t i) {
  return double{numeric::decode_e4m3fn(codes[i])} * double{numeric::decode_e8m0(scales[i / 32])};
}

/// Row n of expert e of operand pair (w, scale) times x, in double.
double dot(const graph::OpCall& call, std::size_t w, std::int64_t e, std::int64_t n, const std::vector<double>& x) {
  const auto k = static_cast<std::int64_t>(x.size());
  const std::uint8_t* codes = call.in[w].slice<std::uint8_t>(e) + n * k / 2;
  const std::uint8_t* scales = call.in[w + 1].slice<std::uint8_t>(e) + n * k / 32;
  double sum = 0;
  for (std::int64_t i = 0; i < k; ++i) {
    sum += x[static_cast<std::size_t>(i)] * double{numeric::decode_packed_e2m1(codes, i)} *
           double{numeric::decode_e8m0(scales[i / 32])};
  }
  return sum;
}

/// Quantised SwiGLU product of one pair. The bf16 and e4m3 roundings of the contract are part of the formula.
std::vector<double> intermediate(const graph::OpCall& call, std::int64_t e, double weight,
                                 const std::vector<double>& x) {
  const std::int64_t width = call.in[3].type.shape[1];
  const double limit = call.attrs.real("limit");
  std::vector<BF16> a;
  for (std::int64_t i = 0; i < width; ++i) {
    double g = round_to_bf16(dot(call, 3, e, i, x));
    double u = round_to_bf16(dot(call, 5, e, i, x));
    if (limit > 0) {
      g = std::min(g, limit);
      u = std::clamp(u, -limit, limit);
    }
    a.push_back(to_bf16(static_cast<float>(g / (1 + std::exp(-g)) * u * weight)));
  }
  std::vector<std::uint8_t> codes(a.size()), scales(a.size() / 32);
  numeric::act_quant32(std::span<const BF16>(a), static_cast<float>(call.attrs.real("max")), codes.data(),
                       scales.data());
  std::vector<double> out;
  for (std::int64_t i = 0; i < width; ++i) out.push_back(decode_act(codes.data(), scales.data(), i));
  return out;
}

}  // namespace

void moe_experts_dense_reference(const graph::OpCall& call) {
  const std::int64_t tokens = call.in[2].type.shape[0];
  const std::int64_t experts = call.in[2].type.shape[1];
  const std::int64_t hidden = call.in[0].type.shape[1];
  double* out = call.out[0].as<double>();
  std::fill_n(out, tokens * hidden, 0.0);
  for (std::int64_t t = 0; t < tokens; ++t) {
    std::vector<double> x;
    for (std::int64_t i = 0; i < hidden; ++i) {
      x.push_back(
          decode_act(call.in[0].as<std::uint8_t>() + t * hidden, call.in[1].as<std::uint8_t>() + t * hidden / 32, i));
    }
    for (std::int64_t e = 0; e < experts; ++e) {
      const float weight = call.in[2].as<float>()[t * experts + e];
      if (weight == 0) continue;
      const std::vector<double> a = intermediate(call, e, double{weight}, x);
      for (std::int64_t n = 0; n < hidden; ++n) out[t * hidden + n] += round_to_bf16(dot(call, 7, e, n, a));
    }
  }
}

}  // namespace deepinfer::ops
