#include "engine/logits.h"

#include <algorithm>

#include "base/error.h"

namespace deepinfer::engine {

namespace {

// The sequences of a request; slots and blocks go back to the runner at the end.
class Group {
 public:
  explicit Group(ModelRunner& runner) : runner_(runner) {}
  ~Group() {
    for (Sequence& sequence : sequences_) runner_.close_sequence(sequence);
  }
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  Status open(const LogitsRequest& request) {
    sequences_.reserve(request.neighbours.size() + 1);
    DI_TRY(open_one(request.token_ids));
    for (const auto& ids : request.neighbours) DI_TRY(open_one(ids));
    return {};
  }
  std::vector<Sequence>& sequences() { return sequences_; }

 private:
  Status open_one(const std::vector<std::int32_t>& ids) {
    DI_ASSIGN(Sequence sequence, runner_.open_sequence());
    sequences_.push_back(std::move(sequence));
    for (const std::int32_t id : ids) runner_.append_token(sequences_.back(), id);
    return runner_.reserve(sequences_.back(), std::ssize(ids));
  }

  ModelRunner& runner_;
  std::vector<Sequence> sequences_;
};

Status check_ids(const std::vector<std::int32_t>& ids, std::int64_t vocab) {
  if (ids.empty()) return errorf(ErrorCode::kInvalidArgument, "a list of token ids is empty");
  for (std::size_t i = 0; i < ids.size(); ++i) {
    if (ids[i] < 0 || ids[i] >= vocab) {
      return errorf(ErrorCode::kInvalidArgument, "token {} is {}, accepted: 0 .. {}", i, ids[i], vocab - 1);
    }
  }
  return {};
}

Status check(const ModelRunner& runner, const LogitsRequest& request) {
  const std::int64_t vocab = runner.model().config().vocab_size;
  DI_TRY(check_ids(request.token_ids, vocab));
  for (const auto& ids : request.neighbours) DI_TRY(check_ids(ids, vocab));
  if (request.chunk < 0) return errorf(ErrorCode::kInvalidArgument, "chunk is {}, accepted: 0 and more", request.chunk);
  if (request.decode_from < -1 || request.decode_from > std::ssize(request.token_ids)) {
    return errorf(ErrorCode::kInvalidArgument, "decode_from is {}, accepted: 0 .. {}", request.decode_from,
                  request.token_ids.size());
  }
  return {};
}

// The next rows of every sequence that has some; prefill while any sequence is below the boundary, then decode.
struct Step {
  std::vector<PrefillItem> prefill;
  std::vector<DecodeItem> decode;
  std::vector<Sequence*> owners;
};

Step plan(std::vector<Sequence>& sequences, const LogitsRequest& request) {
  Step step;
  for (Sequence& s : sequences) {
    const std::int64_t total = std::ssize(s.tokens);
    const std::int64_t boundary = request.decode_from < 0 ? total : std::min(request.decode_from, total);
    if (s.length >= boundary) continue;
    const std::int64_t left = boundary - s.length;
    step.prefill.push_back({&s, request.chunk > 0 ? std::min(request.chunk, left) : left, LogitRows::kAll});
    step.owners.push_back(&s);
  }
  if (!step.prefill.empty()) return step;
  for (Sequence& s : sequences) {
    if (s.length >= std::ssize(s.tokens)) continue;
    step.decode.push_back({&s, 1});
    step.owners.push_back(&s);
  }
  return step;
}

}  // namespace

Result<Tensor> compute_logits(ModelRunner& runner, const LogitsRequest& request) {
  DI_TRY(check(runner, request));
  Group group(runner);
  DI_TRY(group.open(request));
  Sequence& main = group.sequences().front();
  const std::int64_t vocab = runner.model().config().vocab_size;
  Tensor out(DType::kF32, {std::ssize(request.token_ids), vocab});
  while (true) {
    const Step step = plan(group.sequences(), request);
    if (step.owners.empty()) return out;
    Tensor rows;
    if (!step.prefill.empty()) {
      rows = runner.prefill(step.prefill);
    } else {
      DI_ASSIGN(rows, runner.decode(step.decode));
    }
    for (std::size_t i = 0; i < step.owners.size(); ++i) {
      const std::int64_t count = step.prefill.empty() ? 1 : step.prefill[i].count;
      // The main sequence is the first of the step, so its rows are the first ones.
      if (step.owners[i] == &main) {
        std::copy_n(rows.as<float>(), count * vocab, out.as<float>() + main.length * vocab);
      }
      step.owners[i]->length += count;
    }
  }
}

}  // namespace deepinfer::engine
