#include "ops/kv_pack/kv_pack_kernels.h"
#include "ops/quant_act/quant_format.h"

namespace deepinfer::ops {

void kv_pack_host(const graph::OpCall& call) {
  const QuantFormat format = *cache_format(call.attrs.word("kind"));
  const auto max = static_cast<float>(call.attrs.real("max"));
  const std::int64_t n = call.in[0].type.shape[1];
  const BF16* x = call.in[0].as<BF16>();
  auto* rows = call.out[0].as<std::uint8_t>();
  call.ctx.pool->parallel_for(call.in[0].type.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      std::uint8_t* record = rows + m * record_bytes(format, n);
      quantise(format, {x + m * n, static_cast<std::size_t>(n)}, max, record, record + code_bytes(format, n));
    }
  });
}

void kv_unpack_host(const graph::OpCall& call) {
  const QuantFormat format = *cache_format(call.attrs.word("kind"));
  const std::int64_t n = call.out[0].type.shape[1];
  const auto* rows = call.in[0].as<std::uint8_t>();
  BF16* out = call.out[0].as<BF16>();
  call.ctx.pool->parallel_for(call.out[0].type.shape[0], 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      decode_record(format, rows + m * record_bytes(format, n), n, out + m * n);
    }
  });
}

}  // namespace deepinfer::ops
