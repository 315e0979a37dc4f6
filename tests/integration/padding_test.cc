// Padding rows and real rows share nothing (graph.md 4.4, 5.3): whatever slot 0, the scratch block and the inputs of
// padding rows hold, real rows keep their bits, and only records of the step's own tokens change.
#include <cstring>
#include <limits>
#include <random>

#include "base/io.h"
#include "engine/graph_runner.h"
#include "tiny_models.h"

namespace deepinfer::integration {
namespace {

using engine::DecodeItem;
using engine::GraphMode;
using engine::RunnerOptions;

constexpr std::int64_t kLength = 60;

RunnerOptions options_for(GraphMode mode) {
  RunnerOptions options;
  options.graph_mode = mode;
  options.max_num_seqs = 4;
  options.max_model_len = kLength;
  return options;
}

/// Four sequences of odd and even lengths. With five drafts the captured sizes are 1 2 4 8 16 24.
class Batch {
 public:
  Batch(engine::ModelRunner& runner, const std::string& name) : most_(1 + runner.options().num_drafts) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      streams_.push_back(std::make_unique<Stream>(runner, random_tokens(name, kLength, 31 + i)));
      streams_.back()->prefill(17 + 6 * i);
    }
  }
  std::int64_t max_rows() const { return 4 * most_; }
  /// The items of a step of `rows` query tokens, an anchor and all drafts of the first sequences.
  std::vector<DecodeItem> items(std::int64_t rows) {
    std::vector<DecodeItem> out;
    for (std::size_t i = 0; rows > 0; ++i) {
      out.push_back({&streams_[i]->sequence(), std::min(rows, most_)});
      rows -= out.back().count;
    }
    return out;
  }

 private:
  std::int64_t most_;  // rows of one sequence in a step
  std::vector<std::unique_ptr<Stream>> streams_;
};

void poison_padding_rows(const engine::ModelRunner& runner, std::uint32_t seed) {
  std::mt19937 rng(seed);
  const auto fill = [&](const TensorRef& root, std::int64_t row) {
    auto* bytes = static_cast<std::uint8_t*>(root.data) + row * root.type.shape[1];
    // Half of the bytes 0xFF: NaN as an e4m3 code and as a ue8m0 scale.
    for (std::int64_t i = 0; i < root.type.shape[1]; ++i) bytes[i] = rng() % 2 == 0 ? 0xFF : static_cast<std::uint8_t>(rng());
  };
  fill(runner.kv_states(), 0);
  fill(runner.kv_blocks(), runner.layout().params().num_blocks);
}

/// SHA-256 of all root bytes but slot 0, the scratch block and the records that the step's tokens write.
std::string untouched_hash(const engine::ModelRunner& runner, const std::vector<DecodeItem>& items) {
  Roots roots = save_roots(runner);
  const kv::CacheLayout& layout = runner.layout();
  const auto& config = runner.model().config();
  const auto clear = [](Tensor& root, std::int64_t row, std::int64_t at, std::int64_t bytes) {
    std::memset(static_cast<char*>(root.data()) + row * root.shape()[1] + at, 0, static_cast<std::size_t>(bytes));
  };
  const auto clear_record = [&](const kv::CacheView& view, std::int64_t row, std::int64_t record) {
    clear(view.root == kv::Root::kBlocks ? roots.blocks : roots.states, row, view.base + record * view.row_bytes, view.row_bytes);
  };
  clear(roots.states, 0, 0, layout.bytes_per_state());
  clear(roots.blocks, layout.params().num_blocks, 0, layout.bytes_per_block());
  for (const DecodeItem& item : items) {
    const engine::Sequence& s = *item.sequence;
    for (std::int64_t p = s.length; p < s.length + item.count; ++p) {
      for (std::int64_t l = 0; l < config.num_layers_with_drafts(); ++l) clear_record(layout.swa(l), s.slot, p % layout.swa(l).rows);
      for (const std::int64_t owner : config.kv_source_layer_ids) {
        const std::int64_t ratio = config.ratio(owner);
        if (ratio > 1) clear_record(layout.ca_state(owner), s.slot, p % layout.ca_state(owner).rows);
        if ((p + 1) % ratio != 0) continue;
        const std::int64_t block_rows = layout.params().block_size / ratio;
        const std::int64_t block = s.blocks[static_cast<std::size_t>(p / ratio / block_rows)];
        clear_record(layout.ca(owner), block, p / ratio % block_rows);
        clear_record(layout.ica(owner), block, p / ratio % block_rows);
      }
    }
  }
  const auto text = [](const Tensor& t) {
    return std::string_view(static_cast<const char*>(t.data()), static_cast<std::size_t>(t.type().bytes()));
  };
  return base::sha256_hex(std::string(text(roots.blocks)) + std::string(text(roots.states)));
}

Logits decode(engine::ModelRunner& runner, const std::vector<DecodeItem>& items) {
  const auto rows = runner.decode(items);
  DI_CHECK(rows.has_value(), "{}", rows.error().to_string());
  return {rows->as<float>(), rows->as<float>() + rows->type().num_elements()};
}

class PaddingIsolated : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(Tiny, PaddingIsolated, ::testing::Values("micro", "nosel", "ties", "geom", "wide", "tiny-chat"));

// One real row more than the next smaller size leaves the most padding; `size` rows leave none.
TEST_P(PaddingIsolated, PoisonInTheRootsIsNeverSeen) {
  const std::string name = GetParam();
  const auto runner = make_runner(name, options_for(GraphMode::kGraph));
  Batch batch(*runner, name);
  const Roots start = save_roots(*runner);
  const std::int64_t vocab = runner->model().config().vocab_size;
  const Logits expected = decode(*runner, batch.items(batch.max_rows()));
  std::int64_t smaller = 0;
  for (const std::int64_t size : engine::graph_batch_sizes(batch.max_rows(), 8)) {
    for (const std::int64_t rows : {smaller + 1, size}) {
      load_roots(*runner, start);
      poison_padding_rows(*runner, static_cast<std::uint32_t>(size));
      const std::vector<DecodeItem> items = batch.items(rows);
      const std::string before = untouched_hash(*runner, items);
      EXPECT_TRUE(same_rows(decode(*runner, items), expected, 0, vocab)) << name << " size " << size << " rows " << rows;
      EXPECT_EQ(untouched_hash(*runner, items), before) << name << " size " << size << " rows " << rows;
    }
    smaller = size;
  }
}

/// Replaces what the padding rows (from `first` on) of a step compute with: values become NaN, ids and counts the largest
/// that are legal, Engram rows are switched on. Addresses stay those of slot 0 and the scratch block, and the rows stay
/// marked invalid.
void poison_inputs(engine::HostTensors& inputs, std::int64_t bucket, std::int64_t first, const engine::ModelRunner& runner) {
  const auto& config = runner.model().config();
  std::vector<std::string> names;
  for (const auto& [name, tensor] : inputs.all()) names.push_back(name);
  for (const std::string& name : names) {
    Tensor tensor = inputs.all().at(name).clone();
    ASSERT_EQ(tensor.shape()[0], bucket) << name;
    const std::int64_t inner = tensor.shape().inner(1);
    const auto fill = [&](auto value) {
      using T = decltype(value);
      std::fill(tensor.as<T>() + first * inner, tensor.as<T>() + bucket * inner, value);
    };
    if (tensor.type().dtype == DType::kF32) fill(std::numeric_limits<float>::quiet_NaN());
    if (tensor.type().dtype == DType::kBF16) fill(to_bf16(std::numeric_limits<float>::quiet_NaN()));
    if (name == "input_ids") fill(static_cast<std::int32_t>(config.vocab_size - 1));
    if (name == "swa_count") fill(static_cast<std::int32_t>(config.sliding_window));
    if (name.starts_with("klen.")) fill(std::int32_t{48});
    if (name == "engram_mask" || name == "state_odd") fill(std::int32_t{1});
    inputs.add(name, std::move(tensor));
  }
}

TEST_P(PaddingIsolated, PoisonInTheInputsIsNeverSeen) {
  const std::string name = GetParam();
  const auto runner = make_runner(name, options_for(GraphMode::kEager));
  engine::GraphRunner graphs(*runner);
  Batch batch(*runner, name);
  const Roots start = save_roots(*runner);
  const std::int64_t vocab = runner->model().config().vocab_size;
  const Logits expected = decode(*runner, batch.items(batch.max_rows()));
  std::int64_t smaller = 0;
  for (const std::int64_t size : engine::graph_batch_sizes(batch.max_rows(), 8)) {
    const std::int64_t rows = smaller + 1;
    smaller = size;
    if (rows == size) continue;
    load_roots(*runner, start);
    const std::vector<DecodeItem> items = batch.items(rows);
    engine::PreparedStep step = engine::prepare_decode(runner->step_context(), items, size);
    poison_inputs(step.inputs, size, rows, *runner);
    const std::string before = untouched_hash(*runner, items);
    const ConstTensorRef out = graphs.replay_decode(size, step.inputs);
    EXPECT_TRUE(same_rows({out.as<float>(), out.as<float>() + rows * vocab}, expected, 0, vocab)) << name << " size " << size;
    EXPECT_EQ(untouched_hash(*runner, items), before) << name << " size " << size;
  }
}

// The checks must be able to fail: poison in a record that a real row reads, and a change outside the allowed bytes.
TEST(PaddingControl, PoisonInALiveRecordIsSeen) {
  const auto runner = make_runner("micro", options_for(GraphMode::kGraph));
  Batch batch(*runner, "micro");
  const std::vector<DecodeItem> items = batch.items(1);
  const Roots start = save_roots(*runner);
  const Logits expected = decode(*runner, items);
  load_roots(*runner, start);
  const kv::CacheView& ring = runner->layout().swa(0);
  const engine::Sequence& s = *items[0].sequence;
  const std::string before = untouched_hash(*runner, items);
  auto* record = static_cast<std::uint8_t*>(runner->kv_states().data) + s.slot * runner->layout().bytes_per_state() +
                 ring.base + (s.length - 1) % ring.rows * ring.row_bytes;
  std::memset(record, 0x38, 8);
  EXPECT_NE(untouched_hash(*runner, items), before);
  EXPECT_FALSE(same_rows(decode(*runner, items), expected, 0, runner->model().config().vocab_size));
}

}  // namespace
}  // namespace deepinfer::integration
