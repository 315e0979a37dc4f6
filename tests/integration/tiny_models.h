// The bundled tiny models, runners over them, and sequences that are driven token by token.
//
// Every integration test compares logits bit for bit with those of one reference run, so a failure names the position,
// the column and both values. Tokens are seeded random ids: a test repeats.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "engine/model_runner.h"

namespace deepinfer::integration {

using Logits = std::vector<float>;  ///< [rows, V]

/// "micro", "nosel", "ties", "geom", "wide" (tests/golden/model) or "tiny-chat" (models); loaded once a process.
std::shared_ptr<const model::deepseek_v41::Model> tiny_model(const std::string& name);
/// num_threads 0 means one thread here: workers that spin slow down tests that run side by side.
std::unique_ptr<engine::ModelRunner> make_runner(const std::string& name, engine::RunnerOptions options);

std::vector<std::int32_t> random_tokens(const std::string& name, std::int64_t count, std::uint32_t seed);

/// One sequence with all its tokens known beforehand; computed up to length().
class Stream {
 public:
  using TokenKind = engine::ModelRunner::TokenKind;
  /// Tokens in `image` = [begin, end) are image-span positions.
  Stream(engine::ModelRunner& runner, std::vector<std::int32_t> tokens,
         std::pair<std::int64_t, std::int64_t> image = {0, 0});
  ~Stream();
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  engine::Sequence& sequence() { return sequence_; }
  std::int64_t length() const { return sequence_.length; }
  std::int64_t total() const { return static_cast<std::int64_t>(sequence_.tokens.size()); }
  /// Image-span positions stay dead for the Engram hash.
  void set_token(std::int64_t position, std::int32_t token);

  /// Computes the next `count` tokens and advances; logits of all of them (prefill cuts: of the tail rows).
  Logits prefill(std::int64_t count);
  Logits decode(std::int64_t count = 1);
  /// The same without advancing.
  Logits try_rows(std::int64_t count);
  /// All rows from length() to `end`, in prefill chunks (0 = one).
  Logits prefill_to(std::int64_t end, std::int64_t chunk = 0);

 private:
  engine::ModelRunner& runner_;
  engine::Sequence sequence_;
};

/// found == rows [first_row, ...) of `expected`, bit for bit.
::testing::AssertionResult same_rows(const Logits& found, const Logits& expected, std::int64_t first_row,
                                     std::int64_t vocab);
/// Two tensors of equal type and bytes.
::testing::AssertionResult same_bytes(const Tensor& found, const Tensor& expected);

/// A copy of both cache roots.
struct Roots {
  Tensor blocks;
  Tensor states;
};
Roots save_roots(const engine::ModelRunner& runner);
void load_roots(const engine::ModelRunner& runner, const Roots& roots);

/// SHA-256 of all cache records that positions >= `length` of the sequence can still read: window rows of the last W
/// positions of all layers and draft stages, completed compressed rows and keys, the pending row of an open group.
std::string committed_hash(const engine::ModelRunner& runner, const engine::Sequence& sequence, std::int64_t length);

}  // namespace deepinfer::integration
