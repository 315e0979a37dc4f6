#include <algorithm>
#include <cmath>

#include "ops/swiglu/swiglu_kernels.h"

namespace deepinfer::ops {

void swiglu_reference(const graph::OpCall& call) {
  const Shape& shape = call.out[0].type.shape;
  const double limit = call.attrs.real("limit");
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    double g = double{to_float(call.in[0].as<BF16>()[i])};
    double u = double{to_float(call.in[1].as<BF16>()[i])};
    if (limit > 0) {
      g = std::min(g, limit);
      u = std::clamp(u, -limit, limit);
    }
    const double w = call.in.size() == 3 ? double{call.in[2].as<float>()[i / shape[1]]} : 1.0;
    call.out[0].as<double>()[i] = g / (1 + std::exp(-g)) * u * w;
  }
}

}  // namespace deepinfer::ops
