#include "ops/dequant/dequant_kernels.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"

namespace deepinfer::ops {

void dequant_reference(const graph::OpCall& call) {
  const auto* codes = call.in[0].as<std::uint8_t>();
  const auto* scales = call.in[1].as<std::uint8_t>();
  const std::int64_t block = call.attrs.integer("block");
  const bool fp8 = call.attrs.word("fmt") == "e4m3";
  const bool power_scale = call.attrs.word("scale") == "ue8m0";
  for (std::int64_t i = 0; i < call.out[0].type.num_elements(); ++i) {  // blocks never straddle rows
    const double code = fp8 ? double{numeric::decode_e4m3fn(codes[i])} : double{numeric::decode_packed_e2m1(codes, i)};
    const std::uint8_t s = scales[i / block];
    const double scale = power_scale ? double{numeric::decode_e8m0(s)} : double{numeric::decode_e4m3fn(s)};
    call.out[0].as<double>()[i] = code * scale;
  }
}

}  // namespace deepinfer::ops
