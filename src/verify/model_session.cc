#include "verify/model_session.h"

#include <algorithm>

#include "base/error.h"
#include "tokenizer/fold_map.h"
#include "tokenizer/tokenizer.h"
#include "verify/golden_folder.h"

namespace deepinfer::verify {

namespace v41 = model::deepseek_v41;

Result<std::shared_ptr<const v41::Model>> load_model(const std::string& dir) {
  DI_ASSIGN(const tokenizer::Tokenizer tokenizer, tokenizer::Tokenizer::from_file(dir + "/tokenizer.json"));
  return v41::Model::load(dir, tokenizer::fold_map(tokenizer));
}

Result<model::NumericModes> golden_modes(const ModelOptions& options) {
  model::NumericModes modes;
  modes.attention_list = model::AttentionList::kReference;
  for (const auto& [key, value] : options.modes) DI_TRY(model::set_mode(modes, key, value));
  return modes;
}

Result<ModelSession> ModelSession::open(std::shared_ptr<const v41::Model> model, const model::NumericModes& modes,
                                        const ModelOptions& options, std::int64_t max_len) {
  engine::RunnerOptions runner;
  runner.num_threads = options.num_threads;
  runner.cpu_isa = options.cpu_isa;
  runner.modes = modes;
  runner.graph_mode = options.graph_mode;
  runner.max_model_len = max_len;
  runner.num_drafts = model->config().dspark_block_size;
  ModelSession out;
  DI_ASSIGN(out.runner_, engine::ModelRunner::create(std::move(model), runner));
  return out;
}

ModelSession::~ModelSession() = default;

void ModelSession::check_id(std::int32_t token) const {
  need_golden(token >= 0 && token < vocab(), "token id {} is outside 0 .. {}", token, vocab() - 1);
}

void ModelSession::start(std::span<const std::int32_t> tokens, std::span<const std::int32_t> types) {
  need_golden(!tokens.empty(), "a prompt has no tokens");
  need_golden(types.empty() || types.size() == tokens.size(), "{} token types for {} tokens", types.size(),
              tokens.size());
  for (const std::int32_t token : tokens) check_id(token);
  if (sequence_.slot > 0) runner_->close_sequence(sequence_);
  auto opened = runner_->open_sequence();
  DI_CHECK(opened.has_value(), "{}", opened.error().to_string());
  sequence_ = std::move(*opened);
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const bool image = !types.empty() && types[i] >= 0;
    runner_->append_token(sequence_, tokens[i],
                          image ? engine::ModelRunner::TokenKind::kImage : engine::ModelRunner::TokenKind::kText);
  }
  const Status reserved = runner_->reserve(sequence_, static_cast<std::int64_t>(tokens.size()));
  need_golden(reserved.has_value(), "{}", reserved ? "" : reserved.error().to_string());
}

std::vector<float> ModelSession::prefill(std::int64_t chunk, const Tensor* embeds) {
  const auto total = static_cast<std::int64_t>(sequence_.tokens.size());
  std::vector<float> out;
  while (sequence_.length < total) {
    const std::int64_t n = std::min(chunk > 0 ? chunk : total, total - sequence_.length);
    const engine::PrefillItem item{&sequence_, n, engine::LogitRows::kAll, embeds};
    const Tensor rows = runner_->prefill({&item, 1});
    sequence_.length += n;
    out.insert(out.end(), rows.as<float>(), rows.as<float>() + rows.type().num_elements());
  }
  return out;
}

std::vector<float> ModelSession::decode(std::int32_t token) {
  check_id(token);
  runner_->append_token(sequence_, token);
  const Status reserved = runner_->reserve(sequence_, sequence_.length + 1);
  need_golden(reserved.has_value(), "{}", reserved ? "" : reserved.error().to_string());
  const engine::DecodeItem item{&sequence_, 1};
  const auto rows = runner_->decode({&item, 1});
  DI_CHECK(rows.has_value(), "{}", rows.error().to_string());
  ++sequence_.length;
  return {rows->as<float>(), rows->as<float>() + vocab()};
}

ModelSession::Draft ModelSession::draft(std::int32_t anchor) {
  check_id(anchor);
  const engine::Sequence* sequence = &sequence_;
  const engine::ModelRunner::DraftRows rows = runner_->draft({&sequence, 1}, {&anchor, 1});
  Draft out{.ids = {anchor}, .raw_logits = {}, .logits = {}, .confidence = {}};
  out.raw_logits.assign(rows.raw_logits.as<float>(),
                        rows.raw_logits.as<float>() + rows.raw_logits.type().num_elements());
  for (std::int64_t k = 0; k < config().dspark_block_size; ++k) {
    const std::int32_t previous = out.ids.back();
    const engine::ModelRunner::MarkovRows step = runner_->markov(rows, k, {&previous, 1});
    const std::span<const float> logits(step.logits.as<float>(), static_cast<std::size_t>(vocab()));
    out.logits.insert(out.logits.end(), logits.begin(), logits.end());
    out.confidence.push_back(*step.confidence.as<float>());
    out.ids.push_back(static_cast<std::int32_t>(argmax(logits)));
  }
  return out;
}

}  // namespace deepinfer::verify
