#include <complex>

#include "ops/rope/rope_kernels.h"

namespace deepinfer::ops {

void rope_reference(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const std::int64_t n = shape.back();
  const std::int64_t pairs = call.in[1].type.shape[1];
  const auto value = [&](std::int64_t i) { return double{to_float(call.in[0].as<BF16>()[i])}; };
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) call.out[0].as<double>()[i] = value(i);
  for (std::int64_t r = 0; r < shape.num_elements() / n; ++r) {
    const std::int64_t t = r / (shape.num_elements() / n / shape[0]);
    for (std::int64_t p = 0; p < pairs; ++p) {
      std::complex<double> turn(double{call.in[1].as<float>()[t * pairs + p]},
                                double{call.in[2].as<float>()[t * pairs + p]});
      if (call.attrs.boolean("conjugate")) turn = std::conj(turn);
      const std::int64_t at = r * n + n - 2 * pairs + 2 * p;
      const std::complex<double> turned = turn * std::complex<double>(value(at), value(at + 1));
      call.out[0].as<double>()[at] = turned.real();
      call.out[0].as<double>()[at + 1] = turned.imag();
    }
  }
}

}  // namespace deepinfer::ops
