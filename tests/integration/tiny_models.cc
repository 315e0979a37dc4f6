#include "tiny_models.h"

#include <cstring>
#include <map>
#include <random>

#include "base/io.h"
#include "tokenizer/fold_map.h"
#include "tokenizer/tokenizer.h"

namespace deepinfer::integration {

namespace v41 = model::deepseek_v41;
using engine::ModelRunner;

std::shared_ptr<const v41::Model> tiny_model(const std::string& name) {
  static std::map<std::string, std::shared_ptr<const v41::Model>> loaded;
  auto& model = loaded[name];
  if (model) return model;
  const std::string root = DEEPINFER_SOURCE_DIR;
  const std::string dir = name == "tiny-chat" ? root + "/models/tiny-chat" : root + "/tests/golden/model/" + name + "/checkpoint";
  const auto tokenizer = tokenizer::Tokenizer::from_file(dir + "/tokenizer.json");
  DI_CHECK(tokenizer.has_value(), "{}", tokenizer.error().to_string());
  auto result = v41::Model::load(dir, tokenizer::fold_map(*tokenizer));
  DI_CHECK(result.has_value(), "{}", result.error().to_string());
  return model = *result;
}

std::unique_ptr<ModelRunner> make_runner(const std::string& name, engine::RunnerOptions options) {
  if (options.num_threads == 0) options.num_threads = 1;
  auto runner = ModelRunner::create(tiny_model(name), options);
  DI_CHECK(runner.has_value(), "{}", runner.error().to_string());
  return std::move(*runner);
}

std::vector<std::int32_t> random_tokens(const std::string& name, std::int64_t count, std::uint32_t seed) {
  std::mt19937 rng(seed);
  const auto vocab = static_cast<std::int32_t>(tiny_model(name)->config().vocab_size);
  std::vector<std::int32_t> tokens;
  // Half of the ids come from a small set: repeated ids and repeated n-grams are the ordinary case.
  for (std::int64_t i = 0; i < count; ++i) {
    const auto draw = static_cast<std::int32_t>(rng() >> 1);
    tokens.push_back(rng() % 2 == 0 ? draw % 16 + 10 : draw % vocab);
  }
  return tokens;
}

Stream::Stream(ModelRunner& runner, std::vector<std::int32_t> tokens, std::pair<std::int64_t, std::int64_t> image)
    : runner_(runner), sequence_(*runner.open_sequence()) {
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    const auto p = static_cast<std::int64_t>(i);
    const bool inside = p >= image.first && p < image.second;
    runner_.append_token(sequence_, tokens[i], inside ? TokenKind::kImage : TokenKind::kText);
  }
  const Status reserved = runner_.reserve(sequence_, total());
  DI_CHECK(reserved.has_value(), "{}", reserved.error().to_string());
}

Stream::~Stream() { runner_.close_sequence(sequence_); }

void Stream::set_token(std::int64_t position, std::int32_t token) {
  const auto p = static_cast<std::size_t>(position);
  sequence_.tokens[p] = token;
  const bool image = !sequence_.image.empty() && sequence_.image[p] != 0;
  if (!image && !sequence_.classes.empty()) sequence_.classes[p] = runner_.model().token_class(token);
}

namespace {

Logits floats(const Tensor& rows) {
  const auto span = rows.span<float>();
  return {span.begin(), span.end()};
}

}  // namespace

Logits Stream::prefill(std::int64_t count) {
  const engine::PrefillItem item{&sequence_, count, engine::LogitRows::kAll, nullptr};
  const Tensor rows = runner_.prefill({&item, 1});
  sequence_.length += count;
  return rows.data() == nullptr ? Logits{} : floats(rows);
}

Logits Stream::try_rows(std::int64_t count) {
  const engine::DecodeItem item{&sequence_, count};
  const auto rows = runner_.decode({&item, 1});
  DI_CHECK(rows.has_value(), "{}", rows.error().to_string());
  return floats(*rows);
}

Logits Stream::decode(std::int64_t count) {
  Logits rows = try_rows(count);
  sequence_.length += count;
  return rows;
}

Logits Stream::prefill_to(std::int64_t end, std::int64_t chunk) {
  Logits out;
  while (length() < end) {
    const Logits rows = prefill(std::min(chunk > 0 ? chunk : end, end - length()));
    out.insert(out.end(), rows.begin(), rows.end());
  }
  return out;
}

::testing::AssertionResult same_rows(const Logits& found, const Logits& expected, std::int64_t first_row,
                                     std::int64_t vocab) {
  const auto from = static_cast<std::size_t>(first_row * vocab);
  if (found.empty() || from + found.size() > expected.size()) {
    return ::testing::AssertionFailure() << found.size() << " values from row " << first_row << ", " << expected.size()
                                         << " expected values";
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    if (std::memcmp(&found[i], &expected[from + i], sizeof(float)) == 0) continue;
    const auto at = static_cast<std::int64_t>(from + i);
    return ::testing::AssertionFailure() << "position " << at / vocab << " column " << at % vocab << ": " << found[i]
                                         << ", expected " << expected[from + i];
  }
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult same_bytes(const Tensor& found, const Tensor& expected) {
  if (found.type() != expected.type()) {
    return ::testing::AssertionFailure() << to_string(found.type()) << ", expected " << to_string(expected.type());
  }
  const auto* a = static_cast<const std::uint8_t*>(found.data());
  const auto* b = static_cast<const std::uint8_t*>(expected.data());
  for (std::int64_t i = 0; i < found.type().bytes(); ++i) {
    if (a[i] != b[i]) return ::testing::AssertionFailure() << "byte " << i << " is " << int{a[i]} << ", expected " << int{b[i]};
  }
  return ::testing::AssertionSuccess();
}

namespace {

Tensor copy(const TensorRef& ref) {
  Tensor out(ref.type);
  std::memcpy(out.data(), ref.data, static_cast<std::size_t>(ref.type.bytes()));
  return out;
}

}  // namespace

Roots save_roots(const ModelRunner& runner) { return {copy(runner.kv_blocks()), copy(runner.kv_states())}; }

void load_roots(const ModelRunner& runner, const Roots& roots) {
  std::memcpy(runner.kv_blocks().data, roots.blocks.data(), static_cast<std::size_t>(roots.blocks.type().bytes()));
  std::memcpy(runner.kv_states().data, roots.states.data(), static_cast<std::size_t>(roots.states.type().bytes()));
}

std::string committed_hash(const ModelRunner& runner, const engine::Sequence& sequence, std::int64_t length) {
  const kv::CacheLayout& layout = runner.layout();
  const auto& config = runner.model().config();
  std::string bytes;
  const auto add = [&](const kv::CacheView& view, std::int64_t root_row, std::int64_t record) {
    const TensorRef root = view.root == kv::Root::kBlocks ? runner.kv_blocks() : runner.kv_states();
    bytes.append(static_cast<const char*>(root.data) + root_row * root.type.shape[1] + view.base + record * view.row_bytes,
                 static_cast<std::size_t>(view.row_bytes));
  };
  for (std::int64_t layer = 0; layer < config.num_layers_with_drafts(); ++layer) {
    const kv::CacheView& view = layout.swa(layer);
    for (std::int64_t p = std::max<std::int64_t>(0, length - config.sliding_window); p < length; ++p) {
      add(view, sequence.slot, p % view.rows);
    }
  }
  for (const std::int64_t owner : config.kv_source_layer_ids) {
    const std::int64_t ratio = config.ratio(owner);
    const std::int64_t block_rows = layout.params().block_size / ratio;
    for (std::int64_t j = 0; j < length / ratio; ++j) {
      const std::int64_t block = sequence.blocks[static_cast<std::size_t>(j / block_rows)];
      add(layout.ca(owner), block, j % block_rows);
      add(layout.ica(owner), block, j % block_rows);
    }
    if (ratio > 1 && length % ratio != 0) add(layout.ca_state(owner), sequence.slot, (length - 1) % layout.ca_state(owner).rows);
  }
  return base::sha256_hex(bytes);
}

}  // namespace deepinfer::integration
