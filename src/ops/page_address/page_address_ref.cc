#include "ops/page_address/page_address_kernels.h"

namespace deepinfer::ops {

void page_address_reference(const graph::OpCall& call) {
  const std::int64_t rows = call.attrs.integer("rows");
  for (std::int64_t i = 0; i < call.in[0].type.num_elements(); ++i) {
    const std::int64_t t = i / call.in[0].type.shape[1];
    std::int64_t pos = call.in[0].as<std::int32_t>()[i];
    std::int64_t block = 0;
    for (; pos >= rows; pos -= rows) ++block;
    call.out[0].as<std::int32_t>()[i] = call.in[1].as<std::int32_t>()[t * call.in[1].type.shape[1] + block];
    call.out[1].as<std::int32_t>()[i] = static_cast<std::int32_t>(pos);
  }
}

}  // namespace deepinfer::ops
