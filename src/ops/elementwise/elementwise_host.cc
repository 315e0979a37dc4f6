#include <cstring>

#include "ops/elementwise/elementwise_kernels.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kGrain = 4096;  // elements: below this a thread costs more than it saves

template <typename F>
void for_elements(const graph::OpCall& call, const F& fn) {
  call.ctx.pool->parallel_for(call.out[0].type.num_elements(), kGrain, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) fn(i);
  });
}

}  // namespace

void convert_host(const graph::OpCall& call) {
  const DType from = call.in[0].type.dtype;
  if (from == call.out[0].type.dtype) {
    std::memcpy(call.out[0].data, call.in[0].data, static_cast<std::size_t>(call.out[0].type.bytes()));
  } else if (from == DType::kF32) {
    for_elements(call, [x = call.in[0].as<float>(), y = call.out[0].as<BF16>()](std::int64_t i) {
      y[i] = to_bf16(x[i]);
    });
  } else {
    for_elements(call, [x = call.in[0].as<BF16>(), y = call.out[0].as<float>()](std::int64_t i) {
      y[i] = to_float(x[i]);
    });
  }
}

void add_host(const graph::OpCall& call) {
  if (call.out[0].type.dtype == DType::kF32) {
    const float* a = call.in[0].as<float>();
    const float* b = call.in[1].as<float>();
    for_elements(call, [a, b, y = call.out[0].as<float>()](std::int64_t i) { y[i] = a[i] + b[i]; });
    return;
  }
  const BF16* a = call.in[0].as<BF16>();
  const BF16* b = call.in[1].as<BF16>();
  for_elements(call, [a, b, y = call.out[0].as<BF16>()](std::int64_t i) {
    y[i] = to_bf16(to_float(a[i]) + to_float(b[i]));
  });
}

}  // namespace deepinfer::ops
