#include <cmath>

#include "ops/rmsnorm/rmsnorm_kernels.h"

namespace deepinfer::ops {

void rmsnorm_reference(const graph::OpCall& call) {
  const Shape& shape = call.out[0].type.shape;
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    const BF16* x = call.in[0].as<BF16>() + t * shape[1];
    double sum = 0;
    for (std::int64_t i = 0; i < shape[1]; ++i) sum += double{to_float(x[i])} * double{to_float(x[i])};
    const double r = 1 / std::sqrt(sum / static_cast<double>(shape[1]) + call.attrs.real("eps"));
    for (std::int64_t i = 0; i < shape[1]; ++i) {
      call.out[0].as<double>()[t * shape[1] + i] =
          double{to_float(x[i])} * r * double{to_float(call.in[1].as<BF16>()[i])};
    }
  }
}

}  // namespace deepinfer::ops
