#include "ops/grouped_einsum/grouped_einsum_kernels.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {

void grouped_einsum_reference(const graph::OpCall& call) {
  const Shape& out = call.out[0].type.shape;
  const std::int64_t k = call.in[0].type.shape[2];
  for (std::int64_t i = 0; i < out.num_elements(); ++i) {
    const std::int64_t row = i % (out[1] * out[2]);
    const BF16* x = call.in[0].as<BF16>() + i / out[2] * k;
    const std::int64_t scale_row = row / call.attrs.integer("nb") * call.in[2].type.shape[1];
    double sum = 0;
    for (std::int64_t c = 0; c < k; ++c) {
      const std::uint8_t s = call.in[2].as<std::uint8_t>()[scale_row + c / call.attrs.integer("kb")];
      sum += double{to_float(x[c])} * double{numeric::decode_e4m3fn(call.in[1].as<std::uint8_t>()[row * k + c])} *
             double{numeric::decode_e8m0(s)};
    }
    call.out[0].as<double>()[i] = sum;
  }
}

}  // namespace deepinfer::ops
