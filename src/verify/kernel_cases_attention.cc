// Adapters of sparse_attn, window_lists, norm_rope, compressor and indexer.
#include <algorithm>
#include <array>

#include "base/error.h"
#include "engine/window_range.h"
#include "ops/registry.h"
#include "ops/sparse_attn/sparse_attn_kernels.h"
#include "verify/kernel_case.h"
#include "verify/kernel_rope.h"

namespace deepinfer::verify {
namespace {

using graph::Word;

// ---- attention ----

/// Runs of consecutive list entries that hold a row (>= 0).
std::vector<ops::EntryRun> runs_of(std::span<const std::int32_t> list) {
  std::vector<ops::EntryRun> runs;
  for (std::int64_t i = 0; i < std::ssize(list); ++i) {
    if (list[static_cast<std::size_t>(i)] < 0) continue;
    if (runs.empty() || runs.back().end != i) runs.push_back({i, i});
    runs.back().end = i + 1;
  }
  return runs;
}

/// The listed rows in fp32 at their list position.
Result<std::vector<float>> listed_rows(std::span<const std::int32_t> list, const Tensor& kv) {
  const std::int64_t width = kv.shape()[1];
  std::vector<float> rows(list.size() * static_cast<std::size_t>(width));
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] < 0) continue;
    if (list[i] >= kv.shape()[0]) {
      return errorf(ErrorCode::kDataCorruption, "row {} of {}", list[i], kv.shape()[0]);
    }
    for (std::int64_t d = 0; d < width; ++d) {
      rows[i * static_cast<std::size_t>(width) + static_cast<std::size_t>(d)] =
          to_float(kv.as<BF16>()[list[i] * width + d]);
    }
  }
  return rows;
}

/// The vectors hold bf16 rows, which no cache record can: the attention core that both ops share takes decoded rows.
Result<CaseOutputs> sparse_attention(const KernelCase& c) {
  const Tensor& q = c.tensor("q");
  const Tensor& kv = c.tensor("kv");
  const Tensor& lists = c.tensor("indices");
  const std::int64_t heads = q.shape()[1];
  const std::int64_t width = q.shape()[2];
  if (kv.shape()[1] != width || c.tensor("sink").shape()[0] != heads || lists.shape()[0] != q.shape()[0]) {
    return errorf(ErrorCode::kDataCorruption, "q {} with kv {} and indices {}", to_string(q.type()),
                  to_string(kv.type()), to_string(lists.type()));
  }
  std::vector<float> work(static_cast<std::size_t>(ops::attend_work_floats(heads, width)));
  graph::Scratch scratch;
  const graph::KernelContext ctx{c.machine().pool, c.machine().isa, &scratch};
  Tensor result(DType::kBF16, q.shape());
  const auto length = static_cast<std::size_t>(lists.shape()[1]);
  for (std::int64_t t = 0; t < q.shape()[0]; ++t) {
    const std::span<const std::int32_t> list(lists.as<std::int32_t>() + t * lists.shape()[1], length);
    DI_ASSIGN(const std::vector<float> rows, listed_rows(list, kv));
    const std::vector<ops::EntryRun> runs = runs_of(list);
    ops::attend({.q = q.as<BF16>() + t * heads * width, .rows = rows.data(), .sink = c.tensor("sink").as<float>(),
                 .runs = runs, .heads = heads, .width = width, .scale = static_cast<float>(c.number("scale", 1))},
                ctx, work.data(), result.as<BF16>() + t * heads * width);
  }
  CaseOutputs out;
  out.tensors.emplace("out", std::move(result));
  return out;
}

/// Positions in prefill order (holes behind), ring slots in decode order (holes in front): numerics.md 7.
Result<CaseOutputs> prefill_windows(const KernelCase& c) {
  DI_ASSIGN(const std::int64_t window, c.size("window", 1));
  const std::int64_t tokens = c.tensor("lists").shape()[0];
  Tensor lists = filled_s32({tokens, window}, -1);
  for (std::int64_t p = 0; p < tokens; ++p) {
    const engine::WindowRange range = engine::window_range(p, window);
    for (std::int64_t i = 0; i < range.count(); ++i) {
      lists.as<std::int32_t>()[p * window + i] = static_cast<std::int32_t>(range.begin + i);
    }
  }
  CaseOutputs out;
  out.tensors.emplace("lists", std::move(lists));
  return out;
}
Result<CaseOutputs> decode_windows(const KernelCase& c) {
  DI_ASSIGN(const std::int64_t window, c.size("window", 1));
  const std::int64_t tokens = c.tensor("slots").shape()[0];
  Tensor slots = filled_s32({tokens, window}, -1);
  for (std::int64_t p = 0; p < tokens; ++p) {
    const engine::WindowRange range = engine::window_range(p, window);
    const std::int64_t first = window - range.count();
    for (std::int64_t i = 0; i < range.count(); ++i) {
      slots.as<std::int32_t>()[p * window + first + i] = static_cast<std::int32_t>((range.begin + i) % window);
    }
  }
  CaseOutputs out;
  out.tensors.emplace("slots", std::move(slots));
  return out;
}

// ---- norm and rotation ----

Result<Tensor> rmsnorm(const KernelCase& c, const Tensor& x, const Tensor& gamma) {
  return call_one(c.machine(), ops::rmsnorm_def, {&x, &gamma}, {{"eps", c.number("eps", 1e-20)}});
}

Result<CaseOutputs> norm(const KernelCase& c) {
  CaseOutputs out;
  DI_ASSIGN(out.tensors["y"], rmsnorm(c, c.tensor("x"), c.tensor("weight")));
  return out;
}

Result<CaseOutputs> rotary_table(const KernelCase& c) {
  DI_ASSIGN(const std::int64_t dim, c.size("dim", 64));
  const numeric::RopeSpec spec{.dim = dim,
                               .base = c.number("base", 10000),
                               .factor = c.flag("yarn") ? c.number("factor", 1) : 1.0,
                               .original_length = c.integer("original", 0),
                               .beta_fast = c.number("beta_fast", 32),
                               .beta_slow = c.number("beta_slow", 1)};
  const std::vector<float> frequencies = numeric::rope_frequencies(spec);
  const Tensor& positions = c.tensor("positions");
  RopeRows rows = rope_rows(spec, positions);
  Tensor angles(DType::kF32, rows.cos.shape());
  for (std::int64_t i = 0; i < angles.type().num_elements(); ++i) {
    const std::int64_t row = i / (spec.dim / 2);
    const auto column = static_cast<std::size_t>(i % (spec.dim / 2));
    angles.as<float>()[i] = numeric::rope_angle(positions.as<std::int64_t>()[row], frequencies[column]);
  }
  CaseOutputs out;
  out.tensors.emplace("freqs", Tensor::from<float>(DType::kF32, {spec.dim / 2}, frequencies));
  out.tensors.emplace("angles", std::move(angles));
  out.tensors.emplace("cos", std::move(rows.cos));
  out.tensors.emplace("sin", std::move(rows.sin));
  return out;
}

void check_leading_channels(const Tensor& x, const Tensor& rotated, CaseOutputs& out) {
  const std::int64_t width = x.shape().back();
  for (std::int64_t i = 0; i < x.type().num_elements(); ++i) {
    if (i % width < width - 64 && x.as<BF16>()[i] != rotated.as<BF16>()[i]) {
      out.failures.push_back(fmt::format("channel {} before the rotated ones changed", i % width));
      return;
    }
  }
}

/// The table is named by the case: rotate_main, rotate_compress.
Result<CaseOutputs> rotation(const KernelCase& c) {
  const bool compressed = c.name().find("compress") != std::string::npos;
  const RopeRows rope = rope_rows(compressed ? compressed_rope() : main_rope(), c.tensor("positions"));
  const Tensor& x = c.tensor("x");
  const Machine& m = c.machine();
  DI_ASSIGN(Tensor there, call_one(m, ops::rope_def, {&x, &rope.cos, &rope.sin}));
  DI_ASSIGN(Tensor back, call_one(m, ops::rope_def, {&there, &rope.cos, &rope.sin}, {{"conjugate", true}}));
  CaseOutputs out;
  check_leading_channels(x, there, out);
  check_leading_channels(x, back, out);
  out.tensors.emplace("rotated", std::move(there));
  out.tensors.emplace("rotated_back", std::move(back));
  return out;
}

// ---- compressor ----

Result<Tensor> project(const KernelCase& c, const Tensor& x, std::string_view weight, DType out) {
  return call_one(c.machine(), ops::linear_bf16_def, {&x, &c.tensor(weight)}, {{"out", out}});
}

Result<CaseOutputs> compress_1(const KernelCase& c) {
  CaseOutputs out;
  DI_ASSIGN(const Tensor kv, project(c, c.tensor("x"), "wkv", DType::kBF16));
  DI_ASSIGN(out.tensors["latent"], rmsnorm(c, kv, c.tensor("norm")));
  return out;
}

/// The even rows wait in a ring with one record a token.
struct Pooled {
  std::vector<Tensor> latents;  ///< bf16 [1, C], one a completed pair
  Tensor root;
};

/// Tokens [begin, end) in one step of compress_pool.
Status pool_step(const KernelCase& c, const Tensor& x, std::int64_t begin, std::int64_t end, Pooled& pooled) {
  DI_ASSIGN(const Tensor rows, call_one(c.machine(), ops::slice_def, {&x},
                                        {{"axis", std::int64_t{0}}, {"begin", begin}, {"end", end}}));
  DI_ASSIGN(const Tensor kv, project(c, rows, "wkv", DType::kF32));
  DI_ASSIGN(const Tensor gate, project(c, rows, "wgate", DType::kF32));
  const Tensor slot = filled_s32({end - begin}, 0);
  Tensor pos = slot.clone();
  Tensor before = slot.clone();
  Tensor odd = slot.clone();
  for (std::int64_t t = begin; t < end; ++t) {
    pos.as<std::int32_t>()[t - begin] = static_cast<std::int32_t>(t);
    before.as<std::int32_t>()[t - begin] = static_cast<std::int32_t>(std::max<std::int64_t>(0, t - 1));
    odd.as<std::int32_t>()[t - begin] = static_cast<std::int32_t>(t % 2);
  }
  DI_ASSIGN(std::vector<Tensor> result,
            call_op(c.machine(), ops::compress_pool_def, {&kv, &gate, &pooled.root, &slot, &pos, &before, &odd},
                    {{"owner", std::int64_t{0}}, {"base", std::int64_t{0}}, {"rows", x.shape()[0]}}));
  for (std::int64_t t = begin + (begin + 1) % 2; t < end; t += 2) {
    const Tensor latent = slice_at(result[0], t - begin);
    DI_ASSIGN(pooled.latents.emplace_back(), rmsnorm(c, reshaped(latent, {1, latent.shape()[0]}), c.tensor("norm")));
  }
  pooled.root = std::move(result[1]);
  return {};
}

Result<Pooled> pool_in_chunks(const KernelCase& c, std::int64_t chunk) {
  const Tensor& x = c.tensor("x");
  const std::int64_t tokens = x.shape()[0];
  Pooled out{{}, Tensor::zeros({DType::kU8, {1, tokens * 8 * c.tensor("wkv").shape()[0]}})};
  for (std::int64_t t = 0; t < tokens; t += chunk) DI_TRY(pool_step(c, x, t, std::min(tokens, t + chunk), out));
  return out;
}

Tensor joined(const std::vector<Tensor>& rows, std::int64_t width) {
  Tensor out(DType::kBF16, {std::ssize(rows), width});
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::copy_n(rows[r].as<BF16>(), width, out.as<BF16>() + static_cast<std::int64_t>(r) * width);
  }
  return out;
}

/// Record `token` of the ring: the gates, then the values. An even number of tokens leaves nothing waiting.
void add_pending(const Pooled& pooled, std::int64_t tokens, std::int64_t width, CaseOutputs& out) {
  const std::int64_t waiting = tokens % 2;
  Tensor gate(DType::kF32, {waiting, width});
  Tensor kv(DType::kF32, {waiting, width});
  if (waiting == 1) {
    const std::uint8_t* record = pooled.root.as<std::uint8_t>() + (tokens - 1) * 8 * width;
    std::memcpy(gate.data(), record, static_cast<std::size_t>(4 * width));
    std::memcpy(kv.data(), record + 4 * width, static_cast<std::size_t>(4 * width));
  }
  out.tensors.emplace("pending_gate", std::move(gate));
  out.tensors.emplace("pending_kv", std::move(kv));
}

Result<CaseOutputs> compress_2(const KernelCase& c) {
  const std::int64_t tokens = c.tensor("x").shape()[0];
  const std::int64_t width = c.tensor("wkv").shape()[0];
  DI_ASSIGN(const Pooled whole, pool_in_chunks(c, tokens));
  CaseOutputs out;
  Tensor latent = joined(whole.latents, width);
  for (const std::int64_t chunk : {1, 3}) {
    DI_ASSIGN(const Pooled parts, pool_in_chunks(c, chunk));
    const Tensor again = joined(parts.latents, width);
    if (!std::ranges::equal(again.span<BF16>(), latent.span<BF16>())) {
      out.failures.push_back(fmt::format("chunks of {} give other latents", chunk));
    }
  }
  add_pending(whole, tokens, width, out);
  out.tensors.emplace("latent", std::move(latent));
  return out;
}

// ---- indexer ----

Result<Tensor> scores(const KernelCase& c, std::string_view precision) {
  const Tensor& q = c.tensor("q");
  const Tensor& k = c.tensor("k");
  const std::int64_t tokens = q.shape()[0];
  const std::int64_t heads = q.shape()[1];
  const std::int64_t width = q.shape()[2];
  const std::int64_t rows = k.shape()[0];
  const Tensor flat = reshaped(q, {tokens, heads * width});
  DI_ASSIGN(const std::vector<Tensor> codes,
            call_op(c.machine(), ops::quant_act_def, {&flat}, {{"fmt", Word{"e2m1"}}}));
  DI_ASSIGN(const Tensor records, call_one(c.machine(), ops::kv_pack_def, {&k}, {{"kind", Word{"ica"}}}));
  const Tensor root = reshaped(records, {1, records.type().bytes()});
  const Tensor table = filled_s32({tokens, 1}, 0);
  const Tensor all = filled_s32({tokens}, static_cast<std::int32_t>(rows));
  return call_one(c.machine(), ops::index_score_def,
                  {&codes[0], &codes[1], &root, &table, &c.tensor("weights"), &all},
                  {{"heads", heads}, {"base", std::int64_t{0}}, {"rows", rows}, {"row_bytes", records.shape()[1]},
                   {"precision", Word{std::string(precision)}}});
}

/// topk_select with -1 behind the count, as the vectors have it.
Result<Tensor> select(const KernelCase& c, const Tensor& rows, const Tensor& visible, std::int64_t k) {
  DI_ASSIGN(std::vector<Tensor> chosen, call_op(c.machine(), ops::topk_select_def, {&rows, &visible},
                                                {{"k", std::min(k, rows.shape()[1])}}));
  const std::int64_t kept = chosen[0].shape()[1];
  Tensor out = filled_s32({rows.shape()[0], k}, -1);
  for (std::int64_t t = 0; t < rows.shape()[0]; ++t) {
    std::copy_n(chosen[0].as<std::int32_t>() + t * kept, chosen[1].as<std::int32_t>()[t],
                out.as<std::int32_t>() + t * k);
  }
  return out;
}

Result<CaseOutputs> index_scores(const KernelCase& c) {
  DI_ASSIGN(const std::int64_t k, c.size("top_k", 1));
  CaseOutputs out;
  DI_ASSIGN(Tensor fp32, scores(c, "fp32"));
  DI_ASSIGN(out.tensors["score_bf16"], scores(c, "official"));
  DI_ASSIGN(out.tensors["top_fp32"], select(c, fp32, c.tensor("visible"), k));
  DI_ASSIGN(out.tensors["top_bf16"], select(c, c.tensor("score_bf16"), c.tensor("visible"), k));
  out.tensors.emplace("score_fp32", std::move(fp32));
  return out;
}

Result<CaseOutputs> top_k(const KernelCase& c) {
  const Tensor& lines = c.tensor("row_k_visible");
  const std::int64_t columns = c.tensor("lists").shape().back();
  if (lines.shape()[1] != 3) return errorf(ErrorCode::kDataCorruption, "row_k_visible is {}", to_string(lines.type()));
  Tensor lists = filled_s32({lines.shape()[0], columns}, -1);
  for (std::int64_t i = 0; i < lines.shape()[0]; ++i) {
    const std::int32_t* line = lines.as<std::int32_t>() + 3 * i;
    const Tensor row = slice_at(c.tensor("scores"), line[0]);
    const Tensor visible = filled_s32({1}, line[2]);
    if (line[1] < 1 || line[1] > columns) {
      return errorf(ErrorCode::kDataCorruption, "k = {} for lists of {}", line[1], columns);
    }
    DI_ASSIGN(const Tensor found, select(c, reshaped(row, {1, row.shape()[0]}), visible, line[1]));
    std::copy_n(found.as<std::int32_t>(), line[1], lists.as<std::int32_t>() + i * columns);
  }
  CaseOutputs out;
  out.tensors.emplace("lists", std::move(lists));
  return out;
}

Result<CaseOutputs> candidates(const KernelCase& c) {
  const Tensor& rows = c.tensor("scores");
  DI_ASSIGN(const std::int64_t block, c.size("block", 8));
  DI_ASSIGN(const std::int64_t keep, c.size("blocks_kept", 1));
  DI_ASSIGN(const std::vector<Tensor> kept, call_op(c.machine(), ops::candidate_blocks_def,
                                                    {&rows, &c.tensor("visible")}, {{"block", block}, {"keep", keep}}));
  const std::int64_t length = rows.shape()[1];
  Tensor mask = Tensor::zeros({DType::kU8, rows.shape()});
  for (std::int64_t t = 0; t < rows.shape()[0]; ++t) {
    for (std::int64_t i = 0; i < kept[1].as<std::int32_t>()[t]; ++i) {
      const std::int64_t begin = kept[0].as<std::int32_t>()[t * kept[0].shape()[1] + i] * block;
      std::fill_n(mask.as<std::uint8_t>() + t * length + begin, std::min(block, length - begin), std::uint8_t{1});
    }
  }
  CaseOutputs out;
  out.tensors.emplace("mask", std::move(mask));
  return out;
}

/// Rows outside the mask carry the masked score, as index_score leaves them.
Result<CaseOutputs> select_in_mask(const KernelCase& c) {
  constexpr float kMasked = -1e30F;
  const Tensor& mask = c.tensor("mask");
  Tensor masked = c.tensor("scores").clone();
  if (mask.shape() != masked.shape()) {
    return errorf(ErrorCode::kDataCorruption, "mask {} for scores {}", to_string(mask.type()),
                  to_string(masked.type()));
  }
  for (std::int64_t i = 0; i < mask.type().num_elements(); ++i) {
    if (mask.as<std::uint8_t>()[i] == 0) masked.as<BF16>()[i] = to_bf16(kMasked);
  }
  DI_ASSIGN(const std::int64_t k, c.size("top_k", 1));
  CaseOutputs out;
  DI_ASSIGN(out.tensors["lists"], select(c, masked, c.tensor("visible"), k));
  return out;
}

}  // namespace

std::span<const KernelAdapter> attention_adapters() {
  constexpr DType kBF16 = DType::kBF16;
  constexpr DType kF32 = DType::kF32;
  constexpr DType kS32 = DType::kS32;
  constexpr DType kS64 = DType::kS64;
  static const std::vector<KernelAdapter> adapters = {
      {"sparse_attn", {{"q", kBF16, 3}, {"kv", kBF16, 2}, {"sink", kF32, 1}, {"indices", kS32, 2}}, sparse_attention},
      {"positions a prefill query sees", {{"lists", kS32, 2}}, prefill_windows},
      {"ring slots a decode query sees, oldest first", {{"slots", kS32, 2}}, decode_windows},
      {"rmsnorm", {{"x", kBF16, 2}, {"weight", kBF16, 1}}, norm},
      {"rope table", {{"positions", kS64, 1}}, rotary_table},
      {"rotation of the last 64 channels", {{"x", kBF16, 3}, {"positions", kS64, 1}}, rotation},
      {"compressor ratio 1", {{"x", kBF16, 2}, {"wkv", kBF16, 2}, {"norm", kBF16, 1}}, compress_1},
      {"compressor ratio 2",
       {{"x", kBF16, 2}, {"wkv", kBF16, 2}, {"wgate", kBF16, 2}, {"norm", kBF16, 1}},
       compress_2},
      {"index scores and selection",
       {{"q", kBF16, 3}, {"k", kBF16, 2}, {"weights", kBF16, 2}, {"visible", kS32, 1}, {"score_bf16", kBF16, 2}},
       index_scores},
      {"top-k with ties", {{"scores", kF32, 2}, {"row_k_visible", kS32, 2}, {"lists", kS32, 2}}, top_k},
      {"candidate blocks", {{"scores", kBF16, 2}, {"visible", kS32, 1}}, candidates},
      {"top-k inside candidate blocks",
       {{"scores", kBF16, 2}, {"visible", kS32, 1}, {"mask", DType::kU8, 2}},
       select_in_mask},
  };
  return adapters;
}

}  // namespace deepinfer::verify
