#include <cstring>

#include "ops/state_store/record_address.h"
#include "ops/state_store/state_store_kernels.h"

namespace deepinfer::ops {

// One thread, so that the later of two rows with one address wins; a row is at most a few KB.
void state_store_host(const graph::OpCall& call) {
  const RecordLayout layout(call.in[0].type, call.attrs, call.in[3].type.shape[1]);
  const std::int32_t* slot = call.in[1].as<std::int32_t>();
  const std::int32_t* pos = call.in[2].as<std::int32_t>();
  const auto* rows = call.in[3].as<std::uint8_t>();
  auto* root = call.out[0].as<std::uint8_t>();
  for (std::int64_t m = 0; m < call.in[3].type.shape[0]; ++m) {
    std::memcpy(root + layout.byte(slot[m], pos[m]), rows + m * layout.row_bytes,
                static_cast<std::size_t>(layout.row_bytes));
  }
}

void state_gather_host(const graph::OpCall& call) {
  const RecordLayout layout(call.in[0].type, call.attrs, call.attrs.integer("row_bytes"));
  const auto* root = call.in[0].as<std::uint8_t>();
  const std::int32_t* slot = call.in[1].as<std::int32_t>();
  const std::int32_t* pos = call.in[2].as<std::int32_t>();
  auto* out = call.out[0].as<std::uint8_t>();
  call.ctx.pool->parallel_for(call.out[0].type.shape[0], 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t m = begin; m < end; ++m) {
      std::memcpy(out + m * layout.row_bytes, root + layout.byte(slot[m], pos[m]),
                  static_cast<std::size_t>(layout.row_bytes));
    }
  });
}

}  // namespace deepinfer::ops
