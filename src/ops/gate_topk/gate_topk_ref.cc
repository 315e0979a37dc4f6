#include <algorithm>
#include <numeric>
#include <vector>

#include "ops/gate_topk/gate_topk_kernels.h"

namespace deepinfer::ops {
namespace {

/// Ids in ascending order of the token's experts; the biased score is defined in fp32, so ties are those of the kernel.
std::vector<std::int32_t> pick(const graph::OpCall& call, std::int64_t t) {
  const std::int64_t experts = call.in[0].type.shape[1];
  const std::int64_t k = call.out[0].type.shape[1];
  std::vector<std::int32_t> ids(static_cast<std::size_t>(experts));
  std::iota(ids.begin(), ids.end(), 0);
  if (call.in[3].as<std::int32_t>()[t] != 0) {
    const std::int64_t hash = call.attrs.integer("hash_mul") * (call.in[4].as<std::int32_t>()[t] % 4096) +
                              call.attrs.integer("hash_add") * call.attrs.integer("layer") + 17;
    for (std::int64_t j = 0; j < k; ++j) {
      ids[static_cast<std::size_t>(j)] =
          static_cast<std::int32_t>((hash + call.attrs.integer("hash_step") * j) % experts);
    }
  } else {
    const bool image = call.in.size() == 7 && call.in[6].as<std::int32_t>()[t] != 0;
    const float* bias = call.in[image ? 5 : 1].as<float>();
    const float* scores = call.in[0].as<float>() + t * experts;
    std::stable_sort(ids.begin(), ids.end(),
                     [&](std::int32_t a, std::int32_t b) { return scores[a] + bias[a] > scores[b] + bias[b]; });
  }
  ids.resize(static_cast<std::size_t>(k));
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace

void gate_topk_reference(const graph::OpCall& call) {
  const Shape& shape = call.out[0].type.shape;
  const std::int64_t experts = call.in[0].type.shape[1];
  const double scale = call.attrs.real("route_scale");
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    const bool valid = call.in[2].as<std::int32_t>()[t] != 0;
    const bool force = call.in[3].as<std::int32_t>()[t] != 0;
    const std::vector<std::int32_t> ids = pick(call, t);
    double sum = 1e-20;
    for (const std::int32_t id : ids) sum += double{call.in[0].as<float>()[t * experts + id]};
    if (shape[1] == 1 || !call.attrs.boolean("renorm")) sum = 1;
    for (std::int64_t j = 0; j < shape[1]; ++j) {
      const std::int32_t id = ids[static_cast<std::size_t>(j)];
      const double weight = force ? scale / static_cast<double>(shape[1])
                                  : double{call.in[0].as<float>()[t * experts + id]} / sum * scale;
      call.out[0].as<std::int32_t>()[t * shape[1] + j] = valid ? id : 0;
      call.out[1].as<double>()[t * shape[1] + j] = valid ? weight : 0;
    }
  }
}

}  // namespace deepinfer::ops
