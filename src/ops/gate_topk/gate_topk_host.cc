#include <algorithm>

#include "ops/gate_topk/gate_topk_kernels.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kHashWindow = 4096;  // keeps every intermediate below 2^24 (CS-13)
constexpr std::int64_t kHashOffset = 17;

/// The k largest of scores + bias by insertion: an equal later value never passes an earlier one. keys holds k floats.
void select_largest(const float* scores, const float* bias, std::int64_t experts, std::span<std::int32_t> ids,
                    float* keys) {
  std::size_t count = 0;
  for (std::int64_t e = 0; e < experts; ++e) {
    const float key = scores[e] + bias[e];
    if (count == ids.size() && !(key > keys[count - 1])) continue;
    std::size_t at = count < ids.size() ? count++ : count - 1;
    for (; at > 0 && key > keys[at - 1]; --at) {
      keys[at] = keys[at - 1];
      ids[at] = ids[at - 1];
    }
    keys[at] = key;
    ids[at] = static_cast<std::int32_t>(e);
  }
  std::sort(ids.begin(), ids.end());
}

void forced_ids(const graph::Attrs& attrs, std::int64_t token_index, std::int64_t experts,
                std::span<std::int32_t> ids) {
  std::int64_t id = (attrs.integer("hash_mul") * (token_index % kHashWindow) +
                     attrs.integer("hash_add") * attrs.integer("layer") + kHashOffset) %
                    experts;
  for (std::int32_t& out : ids) {
    out = static_cast<std::int32_t>(id);
    id = (id + attrs.integer("hash_step")) % experts;
  }
  std::sort(ids.begin(), ids.end());
}

void weigh(const graph::Attrs& attrs, const float* scores, std::span<const std::int32_t> ids, float* weights) {
  const auto scale = static_cast<float>(attrs.real("route_scale"));
  float sum = 0;
  for (const std::int32_t id : ids) sum += scores[id];
  const bool divide = ids.size() > 1 && attrs.boolean("renorm");
  for (std::size_t j = 0; j < ids.size(); ++j) {
    weights[j] = (divide ? scores[ids[j]] / (sum + 1e-20F) : scores[ids[j]]) * scale;
  }
}

void route_token(const graph::OpCall& call, std::int64_t t, float* keys) {
  const std::int64_t experts = call.in[0].type.shape[1];
  const std::int64_t k = call.out[0].type.shape[1];
  const std::span<std::int32_t> ids(call.out[0].as<std::int32_t>() + t * k, static_cast<std::size_t>(k));
  float* weights = call.out[1].as<float>() + t * k;
  if (call.in[2].as<std::int32_t>()[t] == 0) {
    std::fill(ids.begin(), ids.end(), 0);
    std::fill_n(weights, k, 0.0F);
  } else if (call.in[3].as<std::int32_t>()[t] != 0) {
    forced_ids(call.attrs, call.in[4].as<std::int32_t>()[t], experts, ids);
    std::fill_n(weights, k, static_cast<float>(call.attrs.real("route_scale")) / static_cast<float>(k));
  } else {
    const bool image = call.in.size() == 7 && call.in[6].as<std::int32_t>()[t] != 0;
    const float* scores = call.in[0].as<float>() + t * experts;
    select_largest(scores, call.in[image ? 5 : 1].as<float>(), experts, ids, keys);
    weigh(call.attrs, scores, ids, weights);
  }
}

}  // namespace

void gate_topk_host(const graph::OpCall& call) {
  const std::int64_t tokens = call.out[0].type.shape[0];
  const std::int64_t k = call.out[0].type.shape[1];
  float* keys = call.ctx.scratch->take<float>(tokens * k);
  call.ctx.pool->parallel_for(tokens, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t t = begin; t < end; ++t) route_token(call, t, keys + t * k);
  });
}

}  // namespace deepinfer::ops
