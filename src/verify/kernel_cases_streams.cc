// Adapters of hyper_connections and engram.
#include <algorithm>

#include "base/error.h"
#include "checkpoint/engram_layout.h"
#include "ops/engram_fetch/engram_fetch.h"
#include "ops/engram_gate/engram_gate_kernels.h"
#include "ops/engram_hash/engram_hash.h"
#include "ops/hc_mixes/hc_mixes_kernels.h"
#include "ops/registry.h"
#include "verify/kernel_case.h"

namespace deepinfer::verify {
namespace {

// ---- hyper-connections ----

graph::Attrs hc_attrs(const KernelCase& c) {
  return {{"iters", c.integer("iterations", 20)},
          {"eps", c.number("hc_eps", c.number("eps", 1e-6))},
          {"norm_eps", c.number("norm_eps", 1e-20)}};
}

void take_coefficients(std::vector<Tensor> coefficients, CaseOutputs& out) {
  out.tensors.emplace("pre", std::move(coefficients[0]));
  out.tensors.emplace("post", std::move(coefficients[1]));
  out.tensors.emplace("comb", std::move(coefficients[2]));
}

/// One token whose projections are exactly `mixes`: streams of ones with one channel have the mean square 1, and the
/// first column of fn holds the row.
Result<std::vector<Tensor>> split_token(const KernelCase& c, std::int64_t t) {
  const std::int64_t streams = c.integer("hc", 1);
  const Tensor mixes = slice_at(c.tensor("mixes"), t);
  const std::int64_t rows = mixes.shape()[0];
  Tensor ones(DType::kBF16, {1, streams, 1});
  for (BF16& value : ones.span<BF16>()) value = to_bf16(1.0F);
  Tensor fn = Tensor::zeros({DType::kF32, {rows, streams}});
  for (std::int64_t r = 0; r < rows; ++r) fn.as<float>()[r * streams] = mixes.as<float>()[r];
  return call_op(c.machine(), ops::hc_mixes_def, {&ones, &fn, &c.tensor("scale"), &c.tensor("base")}, hc_attrs(c));
}

Result<CaseOutputs> split_sinkhorn(const KernelCase& c) {
  const std::int64_t tokens = c.tensor("mixes").shape()[0];
  DI_ASSIGN(const std::int64_t streams, c.size("hc", 1));
  if (c.tensor("mixes").shape()[1] != (2 + streams) * streams) {
    return errorf(ErrorCode::kDataCorruption, "mixes are {} for hc = {}", to_string(c.tensor("mixes").type()), streams);
  }
  std::vector<Tensor> all;
  all.emplace_back(DType::kF32, Shape{tokens, streams});
  all.emplace_back(DType::kF32, Shape{tokens, streams});
  all.emplace_back(DType::kF32, Shape{tokens, streams, streams});
  for (std::int64_t t = 0; t < tokens; ++t) {
    DI_ASSIGN(const std::vector<Tensor> one, split_token(c, t));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const std::int64_t count = one[i].type().num_elements();
      std::copy_n(one[i].as<float>(), count, all[i].as<float>() + t * count);
    }
  }
  CaseOutputs out;
  take_coefficients(std::move(all), out);
  return out;
}

Tensor projections(const KernelCase& c) {
  const Tensor& x = c.tensor("x");
  const Tensor& fn = c.tensor("fn");
  graph::Scratch scratch;
  graph::KernelContext ctx{c.machine().pool, c.machine().isa, &scratch};
  Tensor out(DType::kF32, {x.shape()[0], fn.shape()[0]});
  ops::hc_projections(x.ref(), fn.ref(), c.number("norm_eps", 1e-20), ctx, out.as<float>());
  return out;
}

Result<CaseOutputs> site(const KernelCase& c) {
  const Machine& m = c.machine();
  const Tensor& x = c.tensor("x");
  DI_ASSIGN(std::vector<Tensor> coefficients,
            call_op(m, ops::hc_mixes_def, {&x, &c.tensor("fn"), &c.tensor("scale"), &c.tensor("base")}, hc_attrs(c)));
  CaseOutputs out;
  DI_ASSIGN(out.tensors["collapsed"], call_one(m, ops::hc_collapse_def, {&x, &c.tensor("pre_in")}));
  DI_ASSIGN(out.tensors["expanded"], call_one(m, ops::hc_expand_def,
                                              {&c.tensor("sublayer_out"), &x, &coefficients[1], &coefficients[2]}));
  out.tensors.emplace("mixes", projections(c));
  take_coefficients(std::move(coefficients), out);
  return out;
}

// ---- Engram ----

Tensor s64(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(DType::kS64, shape, values);
}

/// Folded ids with image and padding positions marked.
Result<std::vector<std::int32_t>> history_of(const KernelCase& c) {
  const Tensor& ids = c.tensor("ids");
  const Tensor& alive = c.tensor("alive");
  if (ids.shape() != alive.shape()) return errorf(ErrorCode::kDataCorruption, "ids and alive differ in length");
  std::vector<std::int32_t> out;
  for (std::int64_t i = 0; i < ids.shape()[0]; ++i) {
    const bool dead = alive.as<std::uint8_t>()[i] == 0;
    out.push_back(dead ? ops::kEngramDead : static_cast<std::int32_t>(ids.as<std::int64_t>()[i]));
  }
  return out;
}

checkpoint::EngramShape engram_shape(const KernelCase& c) {
  return {.vocab_size = c.integer("bucket", 0),
          .max_ngram = c.integer("ngram", 0),
          .num_heads = c.integer("heads", 0),
          .compressed_vocab_size = c.integer("compressed_vocab", 0),
          .layers = c.integers("layers")};
}

/// hash_ids[token, layer, column]
Tensor hash_ids(const std::vector<checkpoint::EngramLayout>& layouts, const checkpoint::EngramShape& shape,
                std::int64_t pad, const std::vector<std::int32_t>& history) {
  const std::int64_t columns = shape.columns();
  const std::int64_t tokens = std::ssize(history);
  const std::int64_t layers = std::ssize(layouts);
  Tensor out(DType::kS64, {tokens, layers, columns});
  std::vector<std::int64_t> rows(static_cast<std::size_t>(tokens * columns));
  for (std::int64_t l = 0; l < layers; ++l) {
    const checkpoint::EngramLayout& layout = layouts[static_cast<std::size_t>(l)];
    ops::engram_row_ids({shape.max_ngram, shape.num_heads, layout.primes, layout.offsets, layout.multipliers, pad},
                        history, 0, tokens, rows.data());
    for (std::int64_t t = 0; t < tokens; ++t) {
      std::copy_n(rows.begin() + t * columns, columns, out.as<std::int64_t>() + (t * layers + l) * columns);
    }
  }
  return out;
}

Result<CaseOutputs> engram_hash(const KernelCase& c) {
  const checkpoint::EngramShape shape = engram_shape(c);
  DI_ASSIGN(const std::vector<checkpoint::EngramLayout> layouts, checkpoint::engram_layouts(shape));
  DI_ASSIGN(const std::vector<std::int32_t> history, history_of(c));
  std::vector<std::int64_t> primes, offsets, rows, multipliers;
  for (const checkpoint::EngramLayout& layout : layouts) {
    primes.insert(primes.end(), layout.primes.begin(), layout.primes.end());
    offsets.insert(offsets.end(), layout.offsets.begin(), layout.offsets.end());
    multipliers.insert(multipliers.end(), layout.multipliers.begin(), layout.multipliers.end());
    rows.push_back(layout.rows);
  }
  const std::int64_t layers = std::ssize(layouts);
  CaseOutputs out;
  out.tensors.emplace("primes", s64({layers, shape.columns()}, primes));
  out.tensors.emplace("offsets", s64({layers, shape.columns()}, offsets));
  out.tensors.emplace("multipliers", s64({layers, shape.max_ngram}, multipliers));
  out.tensors.emplace("rows", s64({layers}, rows));
  out.tensors.emplace("hash_ids", hash_ids(layouts, shape, c.integer("pad", 0), history));
  return out;
}

constexpr std::uint64_t kSeedStep = 10007;  // the seed of a layer is kSeedStep * layer (model.md 4.3)

Result<CaseOutputs> seeded_draws(const KernelCase& c) {
  const Tensor& layers = c.tensor("layer");
  const Tensor& bounds = c.tensor("bound");
  constexpr std::int64_t kWords = 4;
  const std::int64_t draws = c.tensor("draws").shape().back();
  std::vector<std::int64_t> words, raw, drawn;
  for (const std::int64_t layer : layers.span<std::int64_t>()) {
    const std::uint64_t seed = kSeedStep * static_cast<std::uint64_t>(layer);
    for (const std::uint64_t word : checkpoint::Pcg64::seed_words(seed)) {
      words.push_back(static_cast<std::int64_t>(word));
    }
    checkpoint::Pcg64 plain(seed);
    for (std::int64_t i = 0; i < kWords; ++i) raw.push_back(static_cast<std::int64_t>(plain.next()));
    for (const std::int64_t bound : bounds.span<std::int64_t>()) {
      if (bound < 1) return errorf(ErrorCode::kDataCorruption, "bound {}, expected 1 or more", bound);
      checkpoint::Pcg64 generator(seed);
      for (std::int64_t i = 0; i < draws; ++i) {
        drawn.push_back(static_cast<std::int64_t>(generator.bounded(static_cast<std::uint64_t>(bound))));
      }
    }
  }
  const std::int64_t count = layers.shape()[0];
  CaseOutputs out;
  out.tensors.emplace("seed_words", s64({count, kWords}, words));
  out.tensors.emplace("raw", s64({count, kWords}, raw));
  out.tensors.emplace("draws", s64({count, bounds.shape()[0], draws}, drawn));
  return out;
}

/// The gate of every stream; 0 for masked tokens, which pass through.
Tensor gates_of(const KernelCase& c) {
  const Tensor& h = c.tensor("h");
  const std::int64_t streams = h.shape()[1];
  const std::int64_t hidden = h.shape()[2];
  std::vector<float> buffer(static_cast<std::size_t>(2 * hidden));
  Tensor out = Tensor::zeros({DType::kF32, {h.shape()[0], streams}});
  for (std::int64_t row = 0; row < h.shape()[0] * streams; ++row) {
    const std::int64_t t = row / streams;
    if (c.tensor("alive").as<std::uint8_t>()[t] == 0) continue;
    const std::int64_t j = row % streams;
    const ops::StreamGate stream{h.as<BF16>() + row * hidden,
                                 c.tensor("kv").as<BF16>() + (t * (streams + 1) + j) * hidden,
                                 c.tensor("q_weight").as<BF16>() + j * hidden,
                                 c.tensor("k_weight").as<BF16>() + j * hidden,
                                 hidden,
                                 buffer.data(),
                                 buffer.data() + hidden};
    out.as<float>()[row] = stream.gate(*c.machine().isa, static_cast<float>(c.number("eps", 1e-20)),
                                       static_cast<float>(c.number("clamp", 1e-6)));
  }
  return out;
}

Result<CaseOutputs> engram_gate(const KernelCase& c) {
  const Tensor mask = to_s32(c.tensor("alive"));
  const Tensor& h = c.tensor("h");
  CaseOutputs out;
  DI_ASSIGN(Tensor result, call_one(c.machine(), ops::engram_gate_def,
                                    {&h, &c.tensor("kv"), &c.tensor("q_weight"), &c.tensor("k_weight"), &mask},
                                    {{"eps", c.number("eps", 1e-20)}, {"clamp", c.number("clamp", 1e-6)}}));
  const std::int64_t token = h.shape().inner(1);
  for (std::int64_t t = 0; t < h.shape()[0]; ++t) {
    if (mask.as<std::int32_t>()[t] == 0 &&
        !std::equal(h.as<BF16>() + t * token, h.as<BF16>() + (t + 1) * token, result.as<BF16>() + t * token)) {
      out.failures.push_back(fmt::format("masked token {} changed", t));
    }
  }
  out.tensors.emplace("gate", gates_of(c));
  out.tensors.emplace("out", std::move(result));
  return out;
}

Result<CaseOutputs> row_lookup(const KernelCase& c) {
  const Tensor& table = c.tensor("table");
  const Tensor& index = c.tensor("index");
  const std::int64_t width = table.shape()[1];
  if (c.tensor("scale").shape() != Shape{table.shape()[0], width / 32}) {
    return errorf(ErrorCode::kDataCorruption, "scale {} of table {}", to_string(c.tensor("scale").type()),
                  to_string(table.type()));
  }
  Tensor values(DType::kBF16, {index.shape()[0], index.shape()[1], width});
  ops::engram_fetch({table.as<std::uint8_t>(), c.tensor("scale").as<std::uint8_t>(), table.shape()[0], width},
                    index.span<std::int64_t>(), values.as<BF16>());
  CaseOutputs out;
  out.tensors.emplace("values", std::move(values));
  return out;
}

}  // namespace

std::span<const KernelAdapter> stream_adapters() {
  constexpr DType kBF16 = DType::kBF16;
  constexpr DType kF32 = DType::kF32;
  constexpr DType kS64 = DType::kS64;
  constexpr DType kU8 = DType::kU8;
  static const std::vector<KernelAdapter> adapters = {
      {"hc_split_sinkhorn", {{"mixes", kF32, 2}, {"scale", kF32, 1}, {"base", kF32, 1}}, split_sinkhorn},
      {"hyper-connection site",
       {{"x", kBF16, 3}, {"fn", kF32, 2}, {"scale", kF32, 1}, {"base", kF32, 1}, {"pre_in", kF32, 2},
        {"sublayer_out", kBF16, 2}},
       site},
      {"engram hash", {{"ids", kS64, 1}, {"alive", kU8, 1}}, engram_hash},
      {"seeded draws", {{"layer", kS64, 1}, {"bound", kS64, 1}, {"draws", kS64, 3}}, seeded_draws},
      {"engram gate",
       {{"h", kBF16, 3}, {"kv", kBF16, 2}, {"q_weight", kBF16, 2}, {"k_weight", kBF16, 2}, {"alive", kU8, 1}},
       engram_gate},
      {"engram row lookup", {{"table", kU8, 2}, {"scale", kU8, 2}, {"index", kS64, 2}}, row_lookup},
  };
  return adapters;
}

}  // namespace deepinfer::verify
