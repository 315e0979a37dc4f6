#include "ops/quant_act/quant_act_kernels.h"

namespace deepinfer::ops {

void quant_act_host(const graph::OpCall& call) {
  const QuantFormat format = *quant_format(call.attrs);
  const auto max = static_cast<float>(call.attrs.real("max"));
  const std::int64_t n = call.in[0].type.shape.back();
  const std::int64_t num_rows = call.in[0].type.num_elements() / n;
  const std::int64_t row_codes = code_bytes(format, n);
  const std::int64_t row_scales = n / quant_block(format);
  const BF16* x = call.in[0].as<BF16>();
  auto* codes = call.out[0].as<std::uint8_t>();
  auto* scales = call.out[1].as<std::uint8_t>();
  call.ctx.pool->parallel_for(num_rows, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t r = begin; r < end; ++r) {
      quantise(format, {x + r * n, static_cast<std::size_t>(n)}, max, codes + r * row_codes, scales + r * row_scales);
    }
  });
}

}  // namespace deepinfer::ops
