#include "ops/hc_init/hc_init_kernels.h"

namespace deepinfer::ops {

void hc_init_reference(const graph::OpCall& call) {
  const Shape& shape = call.out[0].type.shape;
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    for (std::int64_t s = 0; s < shape[1]; ++s) {
      call.out[1].as<double>()[t * shape[1] + s] = s == 0 ? 1 : 0;
      for (std::int64_t d = 0; d < shape[2]; ++d) {
        call.out[0].as<double>()[(t * shape[1] + s) * shape[2] + d] =
            double{to_float(call.in[0].as<BF16>()[t * shape[2] + d])};
      }
    }
  }
}

}  // namespace deepinfer::ops
