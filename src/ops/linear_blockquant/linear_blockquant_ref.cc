#include "ops/linear_blockquant/linear_blockquant_kernels.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {

void linear_blockquant_reference(const graph::OpCall& call) {
  const std::int64_t k = call.in[0].type.shape[1];
  const std::int64_t n = call.in[2].type.shape[0];
  const std::int64_t kb = call.attrs.integer("kb");
  const std::int64_t nb = call.attrs.integer("nb");
  const bool fp4 = call.attrs.word("wfmt") == "e2m1";
  const auto* w = call.in[2].as<std::uint8_t>();
  for (std::int64_t t = 0; t < call.in[0].type.shape[0]; ++t) {
    for (std::int64_t row = 0; row < n; ++row) {
      double sum = 0;
      for (std::int64_t i = 0; i < k; ++i) {
        const double x = double{numeric::decode_e4m3fn(call.in[0].as<std::uint8_t>()[t * k + i])} *
                         double{numeric::decode_e8m0(call.in[1].as<std::uint8_t>()[(t * k + i) / 32])};
        const double code = fp4 ? double{numeric::decode_packed_e2m1(w, row * k + i)}
                                : double{numeric::decode_e4m3fn(w[row * k + i])};
        sum += x * code * double{numeric::decode_e8m0(call.in[3].as<std::uint8_t>()[row / nb * (k / kb) + i / kb])};
      }
      call.out[0].as<double>()[t * n + row] = sum;
    }
  }
}

}  // namespace deepinfer::ops
