// Logits of given tokens at every position: the `logits` command and checks against other implementations.
//
// The way the tokens are computed (chunks, decode, neighbours in the same steps) never changes a bit of the result.
// Source: cli.md `logits`, numerics.md 11.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model_runner.h"

namespace deepinfer::engine {

struct LogitsRequest {
  std::vector<std::int32_t> token_ids;
  std::int64_t chunk = 0;         ///< prefill chunk, 0 = whole
  std::int64_t decode_from = -1;  ///< prefill that many tokens and decode the rest one by one; -1 = prefill all
  std::vector<std::vector<std::int32_t>> neighbours;  ///< sequences that share the steps; their logits are dropped
};

/// f32 [positions, vocab]. Errors: kInvalidArgument for no tokens, ids outside the vocabulary, negative or too large
/// `decode_from`; kResourceExhausted when the runner has fewer places than sequences or less context than tokens.
Result<Tensor> compute_logits(ModelRunner& runner, const LogitsRequest& request);

}  // namespace deepinfer::engine
