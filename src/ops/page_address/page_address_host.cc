#include "ops/page_address/page_address_kernels.h"

namespace deepinfer::ops {

void page_address_host(const graph::OpCall& call) {
  const std::int64_t k = call.in[0].type.shape[1];
  const std::int64_t num_blocks = call.in[1].type.shape[1];
  const std::int64_t rows = call.attrs.integer("rows");
  const std::int32_t* ids = call.in[0].as<std::int32_t>();
  for (std::int64_t t = 0; t < call.in[0].type.shape[0]; ++t) {
    const std::int32_t* table = call.in[1].as<std::int32_t>() + t * num_blocks;
    for (std::int64_t i = t * k; i < (t + 1) * k; ++i) {
      const std::int64_t block = ids[i] / rows;
      DI_CHECK(ids[i] >= 0 && block < num_blocks, "id {} of token {} with {} blocks of {} rows", ids[i], t, num_blocks,
               rows);
      call.out[0].as<std::int32_t>()[i] = table[block];
      call.out[1].as<std::int32_t>()[i] = static_cast<std::int32_t>(ids[i] % rows);
    }
  }
}

}  // namespace deepinfer::ops
