#include "ops/engram_fetch/engram_fetch_kernels.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {

void engram_fetch_reference(const graph::OpCall& call) {
  const std::int64_t dim = call.in[0].type.shape[1];
  for (std::int64_t i = 0; i < call.in[2].type.num_elements() * dim; ++i) {
    const std::int64_t row = call.in[2].as<std::int64_t>()[i / dim];
    const std::uint8_t code = call.in[0].as<std::uint8_t>()[row * dim + i % dim];
    const std::uint8_t scale = call.in[1].as<std::uint8_t>()[(row * dim + i % dim) / 32];
    call.out[0].as<double>()[i] = double{numeric::decode_e4m3fn(code)} * double{numeric::decode_e8m0(scale)};
  }
}

}  // namespace deepinfer::ops
