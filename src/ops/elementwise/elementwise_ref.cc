#include "ops/elementwise/elementwise_kernels.h"

namespace deepinfer::ops {
namespace {

double element(const ConstTensorRef& x, std::int64_t i) {
  return x.type.dtype == DType::kF32 ? double{x.as<float>()[i]} : double{to_float(x.as<BF16>()[i])};
}

}  // namespace

void convert_reference(const graph::OpCall& call) {
  for (std::int64_t i = 0; i < call.in[0].type.num_elements(); ++i) {
    call.out[0].as<double>()[i] = element(call.in[0], i);
  }
}

void add_reference(const graph::OpCall& call) {
  for (std::int64_t i = 0; i < call.in[0].type.num_elements(); ++i) {
    call.out[0].as<double>()[i] = element(call.in[0], i) + element(call.in[1], i);
  }
}

}  // namespace deepinfer::ops
