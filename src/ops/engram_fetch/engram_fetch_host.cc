#include "base/check.h"
#include "ops/engram_fetch/engram_fetch.h"
#include "ops/engram_fetch/engram_fetch_kernels.h"
#include "tensor/numeric/quantise.h"

namespace deepinfer::ops {

void engram_fetch(const EngramTable& table, std::span<const std::int64_t> ids, BF16* out) {
  const std::int64_t blocks = table.dim / numeric::kAct32Block;
  for (const std::int64_t id : ids) {
    DI_CHECK(id >= 0 && id < table.rows, "row {} of a table of {}", id, table.rows);
    numeric::decode_act32(table.codes + id * table.dim, table.scales + id * blocks, table.dim, out);
    out += table.dim;
  }
}

void engram_fetch_host(const graph::OpCall& call) {
  const Shape& shape = call.in[0].type.shape;
  const EngramTable table{call.in[0].as<std::uint8_t>(), call.in[1].as<std::uint8_t>(), shape[0], shape[1]};
  engram_fetch(table, {call.in[2].as<std::int64_t>(), static_cast<std::size_t>(call.in[2].type.num_elements())},
               call.out[0].as<BF16>());
}

}  // namespace deepinfer::ops
