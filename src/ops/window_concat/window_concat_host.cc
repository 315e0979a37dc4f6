#include <cstring>

#include "ops/state_store/record_address.h"
#include "ops/window_concat/window_concat_kernels.h"

namespace deepinfer::ops {

void window_concat_host(const graph::OpCall& call) {
  const RecordLayout layout(call.in[0].type, call.attrs, call.in[3].type.shape[1]);
  const std::int64_t history = call.in[1].type.shape[0];
  const auto* root = call.in[0].as<std::uint8_t>();
  const std::int32_t* slot = call.in[1].as<std::int32_t>();
  const std::int32_t* pos = call.in[2].as<std::int32_t>();
  auto* out = call.out[0].as<std::uint8_t>();
  call.ctx.pool->parallel_for(history, 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      std::memcpy(out + i * layout.row_bytes, root + layout.byte(slot[i], pos[i]),
                  static_cast<std::size_t>(layout.row_bytes));
    }
  });
  std::memcpy(out + history * layout.row_bytes, call.in[3].data, static_cast<std::size_t>(call.in[3].type.bytes()));
}

}  // namespace deepinfer::ops
