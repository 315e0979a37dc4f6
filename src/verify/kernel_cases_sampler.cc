// Adapters of head_sampler: temperature and filters, greedy choice, exponential race.
#include <algorithm>

#include "base/error.h"
#include "engine/sampling/draw.h"
#include "engine/sampling/logprobs.h"
#include "engine/sampling/natural_log.h"
#include "engine/sampling/processors.h"
#include "tensor/numeric/exp32.h"
#include "verify/kernel_case.h"

namespace deepinfer::verify {
namespace {

using Row = std::vector<float>;
using Processor = void (*)(const engine::RowContext& context, std::span<float> row);

/// One line of `settings`.
SamplingParams params_of(const double* setting) {
  SamplingParams params;
  params.temperature = setting[0];
  params.top_k = static_cast<std::int64_t>(setting[1]);
  params.top_p = setting[2];
  params.min_p = setting[3];
  return params;
}

Row processed(const SamplingParams& params, Row row, std::initializer_list<Processor> steps) {
  engine::SamplingRules rules;
  rules.params = params;
  const engine::TokenHistory history({});
  for (const Processor step : steps) step({rules, history}, row);
  return row;
}

/// top_k and top_p share one processor; the vectors show each alone.
SamplingParams without_top_p(SamplingParams params) {
  params.top_p = 1;
  return params;
}
SamplingParams without_top_k(SamplingParams params) {
  params.top_k = 0;
  return params;
}

/// Tensors [lines, vocabulary] that are filled line by line.
class Lines {
 public:
  explicit Lines(const Shape& shape) : shape_(shape) {}

  void probabilities(const std::string& part, std::int64_t line, const Row& row) {
    float* out = at(part, DType::kF32).as<float>() + line * shape_[1];
    const engine::LogSoftmax log_softmax(row);
    for (std::int32_t id = 0; id < shape_[1]; ++id) out[id] = numeric::exp32(log_softmax.at(id));
  }
  void kept(const std::string& part, std::int64_t line, const Row& row) {
    std::uint8_t* out = at(part, DType::kU8).as<std::uint8_t>() + line * shape_[1];
    std::ranges::transform(row, out, [](float logit) { return static_cast<std::uint8_t>(logit != engine::kRemoved); });
  }
  CaseOutputs take() { return std::move(out_); }

 private:
  Tensor& at(const std::string& part, DType dtype) {
    Tensor& tensor = out_.tensors[part];
    if (tensor.shape() != shape_) tensor = Tensor(dtype, shape_);
    return tensor;
  }
  Shape shape_;
  CaseOutputs out_;
};

Row row_at(const Tensor& logits, std::int64_t row) {
  const float* begin = logits.as<float>() + row * logits.shape()[1];
  return {begin, begin + logits.shape()[1]};
}

/// An id with the logit -inf is an ordinary one of probability 0 in the vectors, which a filter that is off keeps; in
/// the engine -inf means removed. A finite logit with the probability 0 stands in.
Row with_finite_logits(Row row) {
  constexpr float kNoProbability = -1e30F;
  for (float& logit : row) logit = std::max(logit, kNoProbability);
  return row;
}

/// The ids that a stored mask keeps.
Row kept_by(const Tensor& mask, std::int64_t line, Row row) {
  const std::uint8_t* keep = mask.as<std::uint8_t>() + line * mask.shape()[1];
  for (std::size_t id = 0; id < row.size(); ++id) {
    if (keep[id] == 0) row[id] = engine::kRemoved;
  }
  return row;
}

/// The probabilities after the chain are those of the stored mask: our own mask is compared with it, and where the
/// manifest lets a cut fall either way the probabilities of one side would say nothing about the other.
void add_line(const KernelCase& c, const SamplingParams& params, const Row& logits, std::int64_t line, Lines& out) {
  const Row warm = processed(params, logits, {engine::apply_temperature});
  out.probabilities("probs", line, warm);
  out.kept("keep_top_k", line, processed(without_top_p(params), warm, {engine::apply_top_k_top_p}));
  out.kept("keep_top_p", line, processed(without_top_k(params), warm, {engine::apply_top_k_top_p}));
  out.kept("keep_min_p", line, processed(params, warm, {engine::apply_min_p}));
  out.kept("keep_chain", line, processed(params, warm, {engine::apply_top_k_top_p, engine::apply_min_p}));
  out.probabilities("chain_probs", line, kept_by(c.tensor("keep_chain"), line, warm));
}

Result<CaseOutputs> filters(const KernelCase& c) {
  const Tensor& logits = c.tensor("logits");
  const Tensor& settings = c.tensor("settings");
  if (settings.shape()[1] != 4) return errorf(ErrorCode::kDataCorruption, "settings of {}", settings.shape()[1]);
  const std::int64_t rows = logits.shape()[0];
  const Shape lines{settings.shape()[0] * rows, logits.shape()[1]};
  if (c.tensor("keep_chain").shape() != lines) {
    return errorf(ErrorCode::kDataCorruption, "keep_chain is {}", to_string(c.tensor("keep_chain").type()));
  }
  Lines out(lines);
  for (std::int64_t s = 0; s < settings.shape()[0]; ++s) {
    const SamplingParams params = params_of(settings.as<double>() + 4 * s);
    for (std::int64_t r = 0; r < rows; ++r) {
      add_line(c, params, with_finite_logits(row_at(logits, r)), s * rows + r, out);
    }
  }
  return out.take();
}

/// argmax p / noise = argmax (logit - ln noise): the engine's draw with the noise of the vectors in place of its own.
Result<CaseOutputs> exponential_race(const KernelCase& c) {
  const Tensor& logits = c.tensor("logits");
  const Tensor& noise = c.tensor("noise");
  if (noise.shape() != logits.shape()) {
    return errorf(ErrorCode::kDataCorruption, "noise is {}", to_string(noise.type()));
  }
  const std::int64_t rows = logits.shape()[0];
  Tensor token(DType::kS64, {rows});
  Tensor greedy(DType::kS64, {rows});
  for (std::int64_t r = 0; r < rows; ++r) {
    Row row = row_at(logits, r);
    greedy.as<std::int64_t>()[r] = engine::argmax(row);
    const double* own = noise.as<double>() + r * logits.shape()[1];
    std::ranges::transform(row, std::span(own, row.size()), row.begin(), [](float logit, double exponential) {
      return static_cast<float>(double{logit} - engine::natural_log(exponential));
    });
    token.as<std::int64_t>()[r] = engine::argmax(row);
  }
  CaseOutputs out;
  out.tensors.emplace("token", std::move(token));
  out.tensors.emplace("greedy", std::move(greedy));
  return out;
}

}  // namespace

std::span<const KernelAdapter> sampler_adapters() {
  static const std::vector<KernelAdapter> adapters = {
      {"temperature and filters",
       {{"logits", DType::kF32, 2}, {"settings", DType::kF64, 2}, {"keep_chain", DType::kU8, 2}},
       filters},
      {"draw by exponential race", {{"logits", DType::kF32, 2}, {"noise", DType::kF64, 2}}, exponential_race},
  };
  return adapters;
}

}  // namespace deepinfer::verify
