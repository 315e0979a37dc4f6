#include "engine/sampling/processors.h"

#include <algorithm>
#include <vector>

#include "engine/sampling/draw.h"
#include "tensor/numeric/exp32.h"

namespace deepinfer::engine {

std::span<const Processor> processors() {
  static constexpr Processor kList[] = {
#define DI_PROCESSOR(name, when) {#name, Processor::When::when, apply_##name},
#include "engine/sampling/processor_list.inc"
#undef DI_PROCESSOR
  };
  return kList;
}

namespace {

void remove(std::span<float> row, std::int32_t id) {
  if (id < std::ssize(row)) row[static_cast<std::size_t>(id)] = kRemoved;
}

// Keeps the ids of an ascending list.
void keep_only(std::span<float> row, std::span<const std::int32_t> ids) {
  auto next = ids.begin();
  for (std::int32_t id = 0; id < std::ssize(row); ++id) {
    if (next != ids.end() && *next == id) {
      ++next;
    } else {
      row[static_cast<std::size_t>(id)] = kRemoved;
    }
  }
}

bool ends_banned(const SamplingParams& params, std::int64_t num_generated) {
  return num_generated < params.min_tokens || (num_generated == 0 && params.first_n_token_no_eos == 1);
}

}  // namespace

void apply_bans(const RowContext& context, std::span<float> row) {
  const SamplingRules& rules = context.rules;
  const std::span<const std::int32_t> generated = context.history.generated();
  for (const std::int32_t id : rules.banned) remove(row, id);
  if (!rules.allowed.empty()) keep_only(row, rules.allowed);
  if (ends_banned(rules.params, std::ssize(generated))) {
    for (const std::int32_t id : rules.end_ids) remove(row, id);
  }
  for (const auto& word : rules.bad_words) {
    const std::span<const std::int32_t> head(word.data(), word.size() - 1);
    if (head.size() > generated.size()) continue;
    if (std::ranges::equal(head, generated.last(head.size()))) remove(row, word.back());
  }
}

void apply_logit_bias(const RowContext& context, std::span<float> row) {
  for (const auto& [id, bias] : context.rules.params.logit_bias) {
    if (id < std::ssize(row)) row[static_cast<std::size_t>(id)] += static_cast<float>(bias);
  }
}

void apply_penalties(const RowContext& context, std::span<float> row) {
  const SamplingParams& p = context.rules.params;
  if (p.repetition_penalty == 1 && p.frequency_penalty == 0 && p.presence_penalty == 0) return;
  const auto repetition = static_cast<float>(p.repetition_penalty);
  const auto frequency = static_cast<float>(p.frequency_penalty);
  const auto presence = static_cast<float>(p.presence_penalty);
  for (const auto& [id, count] : context.history.counts()) {
    if (id >= std::ssize(row)) continue;
    float& logit = row[static_cast<std::size_t>(id)];
    logit = logit > 0 ? logit / repetition : logit * repetition;
    if (count.generated > 0) logit = logit - frequency * static_cast<float>(count.generated) - presence;
  }
}

void apply_temperature(const RowContext& context, std::span<float> row) {
  const auto temperature = static_cast<float>(context.rules.params.temperature);
  if (temperature == 1) return;
  for (float& logit : row) logit /= temperature;
}

namespace {

// Heap order of ids: logit descending, id ascending.
struct Behind {
  std::span<const float> row;
  bool operator()(std::int32_t a, std::int32_t b) const {
    const float x = row[static_cast<std::size_t>(a)];
    const float y = row[static_cast<std::size_t>(b)];
    return x != y ? x < y : a > b;
  }
};

// Hands out the ids of a row by rank. Building costs O(V), every rank O(log V).
class RankedIds {
 public:
  explicit RankedIds(std::span<const float> row) : behind_{row} {
    for (std::int32_t id = 0; id < std::ssize(row); ++id) {
      if (row[static_cast<std::size_t>(id)] != kRemoved) heap_.push_back(id);
    }
    std::make_heap(heap_.begin(), heap_.end(), behind_);
  }
  std::int64_t num_left() const { return std::ssize(heap_); }
  std::int32_t pop() {
    std::pop_heap(heap_.begin(), heap_.end(), behind_);
    const std::int32_t id = heap_.back();
    heap_.pop_back();
    return id;
  }

 private:
  Behind behind_;
  std::vector<std::int32_t> heap_;
};

struct Ranked {
  std::int32_t id;
  double probability;  // not normalised: exp32(l - max)
};

std::vector<Ranked> best_k(std::span<const float> row, std::int64_t k, float largest) {
  RankedIds ranks(row);
  std::vector<Ranked> out;
  for (std::int64_t i = std::min(k, ranks.num_left()); i > 0; --i) {
    const std::int32_t id = ranks.pop();
    out.push_back({id, static_cast<double>(numeric::exp32(row[static_cast<std::size_t>(id)] - largest))});
  }
  return out;
}

// The shortest prefix, in rank order, whose sum reaches p * total; at least one id.
std::vector<Ranked> prefix_of_all(std::span<const float> row, double p, float largest) {
  double total = 0;
  for (const float logit : row) total += static_cast<double>(numeric::exp32(logit - largest));
  RankedIds ranks(row);
  std::vector<Ranked> out;
  for (double sum = 0; ranks.num_left() > 0 && (out.empty() || sum < p * total); sum += out.back().probability) {
    const std::int32_t id = ranks.pop();
    out.push_back({id, static_cast<double>(numeric::exp32(row[static_cast<std::size_t>(id)] - largest))});
  }
  return out;
}

void cut_to_prefix(std::vector<Ranked>& ranked, double p) {
  double total = 0;
  for (const Ranked& r : ranked) total += r.probability;
  double sum = 0;
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    sum += ranked[i].probability;
    if (sum >= p * total) return ranked.resize(i + 1);
  }
}

}  // namespace

void apply_top_k_top_p(const RowContext& context, std::span<float> row) {
  const SamplingParams& p = context.rules.params;
  const bool limit_k = p.top_k > 0 && p.top_k < std::ssize(row);
  if (!limit_k && p.top_p >= 1) return;
  const float largest = row[static_cast<std::size_t>(argmax(row))];
  std::vector<Ranked> kept = limit_k ? best_k(row, p.top_k, largest) : prefix_of_all(row, p.top_p, largest);
  if (limit_k && p.top_p < 1) cut_to_prefix(kept, p.top_p);
  std::vector<std::int32_t> ids(kept.size());
  std::ranges::transform(kept, ids.begin(), &Ranked::id);
  std::ranges::sort(ids);
  keep_only(row, ids);
}

void apply_min_p(const RowContext& context, std::span<float> row) {
  const double min_p = context.rules.params.min_p;
  if (min_p <= 0) return;
  const float largest = row[static_cast<std::size_t>(argmax(row))];
  for (float& logit : row) {
    if (static_cast<double>(numeric::exp32(logit - largest)) < min_p) logit = kRemoved;
  }
}

}  // namespace deepinfer::engine
