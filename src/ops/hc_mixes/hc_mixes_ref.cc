#include <cmath>

#include "ops/hc_mixes/hc_mixes_kernels.h"

namespace deepinfer::ops {
namespace {

double sigma(double x) { return 1 / (1 + std::exp(-x)); }

/// Divides every line (rows: along = 1, columns: along = n) by its sum + eps.
void normalise(double* c, std::int64_t n, std::int64_t along, double eps) {
  const std::int64_t across = along == 1 ? n : 1;
  for (std::int64_t line = 0; line < n; ++line) {
    double sum = eps;
    for (std::int64_t i = 0; i < n; ++i) sum += c[line * across + i * along];
    for (std::int64_t i = 0; i < n; ++i) c[line * across + i * along] /= sum;
  }
}

}  // namespace

void hc_mixes_reference(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t n = shape[1];
  const std::int64_t width = n * shape[2];
  const double eps = call.attrs.real("eps");
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    const BF16* x = call.in[0].as<BF16>() + t * width;
    double squares = 0;
    for (std::int64_t i = 0; i < width; ++i) squares += double{to_float(x[i])} * double{to_float(x[i])};
    const double r = 1 / std::sqrt(squares / static_cast<double>(width) + call.attrs.real("norm_eps"));
    const auto logit = [&](std::int64_t row, int part) {
      double dot = 0;
      const float* fn = call.in[1].as<float>() + row * width;
      for (std::int64_t i = 0; i < width; ++i) dot += double{fn[i]} * double{to_float(x[i])};
      return dot * r * double{call.in[2].as<float>()[part]} + double{call.in[3].as<float>()[row]};
    };
    double* comb = call.out[2].as<double>() + t * n * n;
    for (std::int64_t j = 0; j < n; ++j) {
      call.out[0].as<double>()[t * n + j] = sigma(logit(j, 0)) + eps;
      call.out[1].as<double>()[t * n + j] = 2 * sigma(logit(n + j, 1));
      double sum = 0;
      for (std::int64_t k = 0; k < n; ++k) sum += comb[j * n + k] = std::exp(logit((2 + j) * n + k, 2));
      for (std::int64_t k = 0; k < n; ++k) comb[j * n + k] = comb[j * n + k] / sum + eps;
    }
    normalise(comb, n, n, eps);
    for (std::int64_t i = 1; i < call.attrs.integer("iters"); ++i) {
      normalise(comb, n, 1, eps);
      normalise(comb, n, n, eps);
    }
  }
}

}  // namespace deepinfer::ops
