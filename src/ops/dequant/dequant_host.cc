#include "ops/dequant/dequant_kernels.h"
#include "ops/quant_act/quant_format.h"

namespace deepinfer::ops {

void dequant_host(const graph::OpCall& call) {
  const QuantFormat format = *quant_format(call.attrs);
  const std::int64_t n = call.out[0].type.shape.back();
  const auto* codes = call.in[0].as<std::uint8_t>();
  const auto* scales = call.in[1].as<std::uint8_t>();
  BF16* out = call.out[0].as<BF16>();
  call.ctx.pool->parallel_for(call.out[0].type.num_elements() / n, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      dequantise(format, codes + r * code_bytes(format, n), scales + r * (n / quant_block(format)), n, out + r * n);
    }
  });
}

}  // namespace deepinfer::ops
