#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "ops/isa/isa.h"
#include "ops/page_view.h"
#include "ops/sparse_attn/sparse_attn_kernels.h"
#include "tensor/numeric/exp32.h"
#include "tensor/numeric/quantise.h"
#include "tensor/numeric/v16.h"

namespace deepinfer::ops {
namespace {

constexpr std::int64_t kBlock = 64;        // list entries under one running maximum
constexpr std::int64_t kHeadState = 16;    // floats behind q and o of a head: m, l, padding to a cache line
constexpr float kEmptyMax = -1e30F;        // finite: an empty list gives 0, not NaN

/// fn(first entry, count, position in the block) for each run of rows inside the block that starts at `begin`.
template <typename F>
void for_rows(std::span<const EntryRun> runs, std::int64_t begin, const F& fn) {
  for (const EntryRun& run : runs) {
    const std::int64_t first = std::max(run.begin, begin);
    const std::int64_t last = std::min(run.end, begin + kBlock);
    if (first < last) fn(first, last - first, first - begin);
  }
}

/// A head's running softmax: q and o [width], maximum m, denominator l.
struct Head {
  float* q;
  float* o;
  float* m;
  float* l;
};

Head head_state(float* work, std::int64_t h, std::int64_t width) {
  float* base = work + h * (2 * width + kHeadState);
  return {base, base + width, base + 2 * width, base + 2 * width + 1};
}

void attend_block(const AttnTask& task, const isa::Kernels& isa, std::int64_t begin, const Head& head) {
  std::array<float, kBlock> p{};
  const std::int64_t width = task.width;
  float top = *head.m;
  for_rows(task.runs, begin, [&](std::int64_t first, std::int64_t count, std::int64_t at) {
    isa.rows_f32_bf16map(head.q, task.rows + first * width, width, count, width, p.data() + at);
    for (float& s : std::span(p).subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(count))) {
      s *= task.scale;
      top = std::max(top, s);
    }
  });
  const float alpha = numeric::exp32(*head.m - top);
  for_rows(task.runs, begin, [&](std::int64_t, std::int64_t count, std::int64_t at) {
    for (std::int64_t i = at; i < at + count; ++i) p[static_cast<std::size_t>(i)] -= top;
    isa.exp32(p.data() + at, count);
  });
  *head.l = std::fma(*head.l, alpha, numeric::sum8(p.data(), kBlock));
  *head.m = top;
  isa.scale(alpha, head.o, width);
  for_rows(task.runs, begin, [&](std::int64_t first, std::int64_t count, std::int64_t at) {
    for (std::int64_t i = 0; i < count; ++i) {
      isa.axpy(round_bf16(p[static_cast<std::size_t>(at + i)]), task.rows + (first + i) * width, head.o, width);
    }
  });
}

bool has_rows(const AttnTask& task, std::int64_t begin) {
  bool found = false;
  for_rows(task.runs, begin, [&](std::int64_t, std::int64_t, std::int64_t) { found = true; });
  return found;
}

void attend_heads(const AttnTask& task, const isa::Kernels& isa, float* work, EntryRun heads) {
  for (std::int64_t h = heads.begin; h < heads.end; ++h) {
    const Head head = head_state(work, h, task.width);
    for (std::int64_t c = 0; c < task.width; ++c) head.q[c] = to_float(task.q[h * task.width + c]);
    std::fill_n(head.o, task.width, 0.0F);
    *head.m = kEmptyMax;
    *head.l = 0;
  }
  // Blocks outside, heads inside: the 64 rows of a block (128 KB at width 512) stay in the second-level cache.
  const std::int64_t length = task.runs.empty() ? 0 : task.runs.back().end;
  for (std::int64_t begin = 0; begin < length; begin += kBlock) {
    if (!has_rows(task, begin)) continue;
    for (std::int64_t h = heads.begin; h < heads.end; ++h) {
      attend_block(task, isa, begin, head_state(work, h, task.width));
    }
  }
}

/// Operands that are the same for all tokens of a call.
struct Shared {
  const graph::OpCall& call;
  std::int64_t heads, width, window;
  bool holes_in_front;
  float* rows;  ///< [list length, width]
  float* work;
};

Shared prepare(const graph::OpCall& call, std::int64_t most_selected) {
  const Shape& shape = call.out[0].type.shape;
  const std::int64_t window = call.attrs.integer("window");
  return {call,
          shape[1],
          shape[2],
          window,
          call.attrs.word("holes") == "front",
          call.ctx.scratch->take<float>((window + most_selected) * shape[2]),
          call.ctx.scratch->take<float>(attend_work_floats(shape[1], shape[2]))};
}

std::int64_t checked_count(const ConstTensorRef& counts, std::int64_t t, std::int64_t most) {
  const std::int64_t count = counts.as<std::int32_t>()[t];
  DI_CHECK(count >= 0 && count <= most, "count {} of token {}, at most {}", count, t, most);
  return count;
}

/// One token: decodes its rows once for all heads, then attends. window_row(i), i < wcount, and selected_row(j),
/// j < scount, give the records.
template <typename WindowRow, typename SelectedRow>
void run_token(const Shared& s, std::int64_t t, std::int64_t wcount, std::int64_t scount, const WindowRow& window_row,
               const SelectedRow& selected_row) {
  const std::int64_t width = s.width;
  const std::int64_t first = s.holes_in_front ? s.window - wcount : 0;
  s.call.ctx.pool->parallel_for(wcount + scount, 4, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      if (i < wcount) {
        const std::uint8_t* record = window_row(i);
        numeric::decode_act32(record, record + width, width, s.rows + (first + i) * width);
      } else {
        const std::uint8_t* record = selected_row(i - wcount);
        numeric::decode_fp4_16(record, record + width / 2, width, s.rows + (s.window + i - wcount) * width);
      }
    }
  });
  const std::array runs{EntryRun{first, first + wcount}, EntryRun{s.window, s.window + scount}};
  attend({.q = s.call.in[0].as<BF16>() + t * s.heads * width,
          .rows = s.rows,
          .sink = s.call.in.back().as<float>(),
          .runs = runs,
          .heads = s.heads,
          .width = width,
          .scale = static_cast<float>(s.call.attrs.real("scale"))},
         s.call.ctx, s.work, s.call.out[0].as<BF16>() + t * s.heads * width);
}

}  // namespace

std::int64_t attend_work_floats(std::int64_t heads, std::int64_t width) { return heads * (2 * width + kHeadState); }

void attend(const AttnTask& task, const graph::KernelContext& ctx, float* work, BF16* out) {
  ctx.pool->parallel_for(task.heads, 1, [&](std::int64_t begin, std::int64_t end) {
    attend_heads(task, *ctx.isa, work, {begin, end});
    for (std::int64_t h = begin; h < end; ++h) {
      const Head head = head_state(work, h, task.width);
      const float l = *head.l + numeric::exp32(task.sink[h] - *head.m);
      for (std::int64_t c = 0; c < task.width; ++c) out[h * task.width + c] = to_bf16(head.o[c] / l);
    }
  });
}

void sparse_attn_host(const graph::OpCall& call) {
  const std::int64_t tokens = call.out[0].type.shape[0];
  const bool selects = call.in.size() == 6;
  const std::int64_t most_selected = selects ? call.in[3].type.shape[0] / tokens : 0;
  const Shared s = prepare(call, most_selected);
  const std::uint8_t* window = call.in[1].as<std::uint8_t>();
  const std::uint8_t* selected = selects ? call.in[3].as<std::uint8_t>() : nullptr;
  const std::int64_t window_bytes = call.in[1].type.shape[1];
  const std::int64_t selected_bytes = selects ? call.in[3].type.shape[1] : 0;
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t wcount = checked_count(call.in[2], t, s.window);
    const std::int64_t scount = selects ? checked_count(call.in[4], t, most_selected) : 0;
    const std::int64_t first = t * s.window + (s.holes_in_front ? s.window - wcount : 0);
    run_token(
        s, t, wcount, scount, [&](std::int64_t i) { return window + (first + i) * window_bytes; },
        [&](std::int64_t j) { return selected + (t * most_selected + j) * selected_bytes; });
  }
}

void sparse_attn_varlen_host(const graph::OpCall& call) {
  const std::int64_t tokens = call.out[0].type.shape[0];
  const bool selects = call.in.size() == 10;
  const std::int64_t most_selected = selects ? call.in[7].type.shape[1] : 0;
  const Shared s = prepare(call, most_selected);
  const Shape& buffer = call.in[1].type.shape;
  std::optional<PagedRecords> records;
  if (selects) records.emplace(call.in[4], page_view(call.attrs));
  for (std::int64_t t = 0; t < tokens; ++t) {
    const std::int64_t wcount = checked_count(call.in[3], t, s.window);
    const std::int64_t scount = selects ? checked_count(call.in[8], t, most_selected) : 0;
    const std::int32_t* index = call.in[2].as<std::int32_t>() + t * s.window;
    run_token(
        s, t, wcount, scount,
        [&](std::int64_t i) {
          DI_CHECK(index[i] >= 0 && index[i] < buffer[0], "window row {} of {}", index[i], buffer[0]);
          return call.in[1].as<std::uint8_t>() + index[i] * buffer[1];
        },
        [&](std::int64_t j) {
          const Shape& table = call.in[5].type.shape;
          const std::int64_t seq = call.in[6].as<std::int32_t>()[t];
          const std::int64_t id = call.in[7].as<std::int32_t>()[t * most_selected + j];
          DI_CHECK(seq >= 0 && seq < table[0] && id >= 0 && id < table[1] * records->view().rows,
                   "row {} of sequence {}, table {}", id, seq, to_string(call.in[5].type));
          return records->record(call.in[5].as<std::int32_t>() + seq * table[1], id);
        });
  }
}

}  // namespace deepinfer::ops
