#include <cmath>

#include "ops/engram_gate/engram_gate_kernels.h"

namespace deepinfer::ops {

void engram_gate_reference(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t n = shape[1];
  const std::int64_t hidden = shape[2];
  const auto at = [&](int operand, std::int64_t i) {
    return double{to_float(call.in[static_cast<std::size_t>(operand)].as<BF16>()[i])};
  };
  for (std::int64_t row = 0; row < shape[0] * n; ++row) {
    const std::int64_t t = row / n;
    const std::int64_t stream = row % n;
    const std::int64_t key = (t * (n + 1) + stream) * hidden;
    double dot = 0, h_squares = 0, key_squares = 0;
    for (std::int64_t d = 0; d < hidden; ++d) {
      const double h = at(0, row * hidden + d), k = at(1, key + d);
      h_squares += h * h;
      key_squares += k * k;
      dot += h * k * at(2, stream * hidden + d) * at(3, stream * hidden + d);
    }
    const auto size = static_cast<double>(hidden);
    const double eps = call.attrs.real("eps");
    dot /= std::sqrt(h_squares / size + eps) * std::sqrt(key_squares / size + eps) * std::sqrt(size);
    const double root = std::copysign(std::sqrt(std::max(std::abs(dot), call.attrs.real("clamp"))), dot);
    const double gate = call.in[4].as<std::int32_t>()[t] != 0 ? 1 / (1 + std::exp(-root)) : 0;
    for (std::int64_t d = 0; d < hidden; ++d) {
      call.out[0].as<double>()[row * hidden + d] =
          at(0, row * hidden + d) + gate * at(1, (t * (n + 1) + n) * hidden + d);
    }
  }
}

}  // namespace deepinfer::ops
