#include "engine/model_runner.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "engine/graph_runner.h"
#include "model/deepseek_v41/forward.h"
#include "ops/isa/isa.h"

namespace deepinfer::engine {

namespace v41 = model::deepseek_v41;

namespace {

constexpr std::int64_t kBlockSize = 128;

std::int64_t blocks_for(std::int64_t tokens) { return (tokens + kBlockSize - 1) / kBlockSize; }

// The first `rows` rows of a tensor.
Tensor first_rows(const ConstTensorRef& ref, std::int64_t rows) {
  Tensor out(ref.type.dtype, {rows, ref.type.shape[1]});
  std::memcpy(out.data(), ref.data, static_cast<std::size_t>(out.type().bytes()));
  return out;
}

}  // namespace

Result<std::unique_ptr<ModelRunner>> ModelRunner::create(std::shared_ptr<const v41::Model> model,
                                                         const RunnerOptions& options) {
  std::unique_ptr<ModelRunner> runner(new ModelRunner(std::move(model), options));
  DI_TRY(runner->prepare());
  return runner;
}

ModelRunner::ModelRunner(std::shared_ptr<const v41::Model> model, const RunnerOptions& options)
    : model_(std::move(model)), options_(options) {}

ModelRunner::~ModelRunner() = default;

Status ModelRunner::prepare() {
  const checkpoint::ModelConfig& config = model_->config();
  if (options_.max_model_len < 1 || options_.max_model_len > config.max_position_embeddings) {
    return errorf(ErrorCode::kInvalidArgument, "max_model_len {} is outside 1 .. {}", options_.max_model_len,
                  config.max_position_embeddings);
  }
  if (model_->weights().draft == nullptr) options_.num_drafts = 0;
  DI_ASSIGN(const isa::Kernels* kernels, isa::choose(options_.cpu_isa));
  const std::int64_t width = blocks_for(options_.max_model_len + options_.num_drafts + 1);
  const kv::CacheParams params{.block_size = kBlockSize,
                               .backtracking = options_.num_drafts + 1,
                               .num_blocks = options_.max_num_seqs * width + 1,
                               .num_state_slots = options_.max_num_seqs + 1};
  layout_ = std::make_unique<kv::CacheLayout>(config, params);
  manager_ = std::make_unique<kv::BlockManager>(params.num_blocks, params.num_state_slots);
  blocks_root_ = Tensor::zeros(layout_->blocks_type());
  states_root_ = Tensor::zeros(layout_->states_type());
  pool_ = std::make_unique<base::ThreadPool>(options_.num_threads);
  ctx_ = {pool_.get(), kernels, &scratch_};
  context_ = {model_.get(), layout_.get(), options_.modes, width};
  const bool traceable = options_.modes.index_key_source == model::IndexKeySource::kOwner;
  if (options_.graph_mode == GraphMode::kGraph && traceable) graphs_ = std::make_unique<GraphRunner>(*this);
  return {};
}

v41::ModelContext ModelRunner::model_context() const {
  return {&model_->config(), &model_->weights(), layout_.get(), options_.modes};
}

std::int64_t ModelRunner::workspace_bytes() const {
  return blocks_root_.type().bytes() + states_root_.type().bytes() + (graphs_ ? graphs_->arena_bytes() : 0);
}

Result<Sequence> ModelRunner::open_sequence() {
  Sequence sequence;
  DI_ASSIGN(sequence.slot, manager_->allocate_slot());
  return sequence;
}

void ModelRunner::close_sequence(Sequence& sequence) {
  manager_->free_blocks(sequence.blocks);
  if (sequence.slot > 0) manager_->free_slot(sequence.slot);
  sequence = {};
}

void ModelRunner::append_token(Sequence& sequence, std::int32_t token, TokenKind kind) const {
  const bool image = kind == TokenKind::kImage;
  DI_CHECK(token >= 0 && token < model_->config().vocab_size, "token id {} of {}", token, model_->config().vocab_size);
  if (image && sequence.image.empty()) sequence.image.assign(sequence.tokens.size(), 0);
  if (image || !sequence.image.empty()) sequence.image.push_back(image ? 1 : 0);
  sequence.tokens.push_back(token);
  if (!model_->config().engram_layer_ids.empty()) {
    sequence.classes.push_back(image ? -1 : model_->token_class(token));
  }
}

Status ModelRunner::reserve(Sequence& sequence, std::int64_t length) {
  const std::int64_t limit = options_.max_model_len + options_.num_drafts + 1;
  if (length > limit) {
    return errorf(ErrorCode::kInvalidArgument, "{} tokens exceed the context of {}", length, options_.max_model_len);
  }
  const std::int64_t missing = blocks_for(length) - static_cast<std::int64_t>(sequence.blocks.size());
  return missing > 0 ? manager_->allocate(missing, sequence.blocks) : Status{};
}

std::int64_t ModelRunner::tail_start(std::int64_t prompt_length) const {
  const checkpoint::ModelConfig& config = model_->config();
  if (options_.modes.prefill_tail == 0 || config.kv_source_layer_ids.empty()) return 0;
  const std::int64_t after = config.num_hidden_layers - 1 - config.kv_source_layer_ids.back();
  const std::int64_t exact = config.sliding_window + (config.sliding_window - 1) * after;
  const std::int64_t tail = options_.modes.prefill_tail < 0 ? exact : options_.modes.prefill_tail;
  return std::max<std::int64_t>(0, prompt_length - tail);
}

graph::Bindings ModelRunner::bindings(const HostTensors& inputs) const {
  graph::Bindings out;
  inputs.bind(out);
  out.state.insert_or_assign("kv_blocks", blocks_root_.ref());
  out.state.insert_or_assign("kv_states", states_root_.ref());
  return out;
}

std::unique_ptr<graph::EagerEmitter> ModelRunner::make_emitter(const graph::Bindings& bindings) const {
  auto emitter =
      emitter_factory_ ? emitter_factory_(ctx_, bindings) : std::make_unique<graph::EagerEmitter>(ctx_, bindings);
  emitter->set_observer(observer_);
  return emitter;
}

void ModelRunner::set_observer(graph::NodeObserver observer) {
  observer_ = std::move(observer);
  if (graphs_) graphs_->set_observer(observer_);
}

namespace {

// Runs all layers on an emitter; the logits value is empty when no row wants any.
graph::Value run_layers(graph::Emitter& e, const v41::ModelContext& context, const model::StepShape& shape) {
  v41::Forward forward(e, context, shape);
  forward.prologue();
  for (std::int64_t i = 0; i < context.config->num_hidden_layers; ++i) {
    if (shape.cut_tail && shape.tail.num_tokens == 0 && i > context.config->kv_source_layer_ids.back()) break;
    forward.layer(i);
  }
  forward.condition_drafts(forward.main_hidden());
  return forward.epilogue();
}

}  // namespace

Tensor ModelRunner::prefill(std::span<const PrefillItem> items) {
  const PreparedStep step = prepare_prefill(context_, items);
  const graph::Bindings bound = bindings(step.inputs);
  const auto emitter = make_emitter(bound);
  graph::EagerEmitter& e = *emitter;
  const graph::Value logits = run_layers(e, model_context(), step.shape);
  return logits ? e.copy(logits) : Tensor();
}

Tensor ModelRunner::run_decode_eager(const PreparedStep& step) {
  const graph::Bindings bound = bindings(step.inputs);
  const auto emitter = make_emitter(bound);
  graph::EagerEmitter& e = *emitter;
  return e.copy(run_layers(e, model_context(), step.shape));
}

Result<Tensor> ModelRunner::decode(std::span<const DecodeItem> items) {
  std::int64_t num_rows = 0;
  bool images = false;
  for (const DecodeItem& item : items) {
    DI_CHECK(item.count <= layout_->max_rows_per_step(), "{} rows of one sequence in a step", item.count);
    num_rows += item.count;
    images |= !item.sequence->image.empty();
  }
  if (!uses_graphs() || images) return run_decode_eager(prepare_decode(context_, items, 0));
  DI_ASSIGN(const std::int64_t bucket, graphs_->select(num_rows));
  const PreparedStep step = prepare_decode(context_, items, bucket);
  return first_rows(graphs_->replay_decode(bucket, step.inputs), num_rows);
}

ModelRunner::DraftRows ModelRunner::draft(std::span<const Sequence* const> sequences,
                                          std::span<const std::int32_t> anchors) {
  const auto num_requests = static_cast<std::int64_t>(sequences.size());
  const std::int64_t rows = num_requests * model_->config().dspark_block_size;
  if (uses_graphs()) {
    const std::int64_t bucket = graphs_->select_draft(num_requests);
    const auto out = graphs_->replay_draft(bucket, prepare_draft(context_, sequences, anchors, bucket));
    return {first_rows(out.first, rows), first_rows(out.second, rows)};
  }
  const HostTensors inputs = prepare_draft(context_, sequences, anchors, 0);
  const graph::Bindings bound = bindings(inputs);
  const auto emitter = make_emitter(bound);
  graph::EagerEmitter& e = *emitter;
  v41::DraftForward forward(e, model_context(), {.num_requests = num_requests});
  forward.prologue();
  for (std::int64_t s = 0; s < model_->config().num_nextn_predict_layers; ++s) forward.stage(s);
  const auto result = forward.epilogue();
  return {e.copy(result.hidden), e.copy(result.raw_logits)};
}

ModelRunner::MarkovRows ModelRunner::markov(const DraftRows& rows, std::int64_t k,
                                            std::span<const std::int32_t> previous) {
  const checkpoint::ModelConfig& config = model_->config();
  const auto num_requests = static_cast<std::int64_t>(previous.size());
  HostTensors inputs;
  std::ranges::copy(previous, inputs.s32("markov.previous", {num_requests}).begin());
  Tensor& raw = inputs.add("markov.raw_logits", Tensor(DType::kF32, {num_requests, config.vocab_size}));
  Tensor& hidden = inputs.add("markov.hidden", Tensor(DType::kBF16, {num_requests, config.hidden_size}));
  for (std::int64_t r = 0; r < num_requests; ++r) {
    const std::int64_t row = r * config.dspark_block_size + k;
    std::copy_n(rows.raw_logits.as<float>() + row * config.vocab_size, config.vocab_size,
                raw.as<float>() + r * config.vocab_size);
    std::copy_n(rows.hidden.as<BF16>() + row * config.hidden_size, config.hidden_size,
                hidden.as<BF16>() + r * config.hidden_size);
  }
  const graph::Bindings bound = bindings(inputs);
  const auto emitter = make_emitter(bound);
  graph::EagerEmitter& e = *emitter;
  const auto [logits, confidence] = v41::markov_step(e, model_context(), num_requests);
  return {e.copy(logits), e.copy(confidence)};
}

}  // namespace deepinfer::engine
