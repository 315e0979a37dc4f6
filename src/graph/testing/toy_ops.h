// Small ops for tests of the graph itself and of executors: every kind of operand, result, attribute and alias that the
// IR knows, with kernels of a few lines. They are in no op list.
#pragma once

#include <cstring>
#include <map>
#include <string>

#include "base/error.h"
#include "graph/emitter.h"
#include "graph/ir.h"

namespace deepinfer::graph::testing {

inline Result<std::vector<TensorType>> infer_same(std::span<const TensorType> in, const Attrs&) {
  DI_TRY(expect_operands(in, 1, 4));
  for (const TensorType& type : in) DI_TRY(expect_type("x", type, in[0]));
  DI_TRY(expect(in[0].dtype == DType::kF32, "x must be f32"));
  return std::vector{in[0]};
}

/// out = scale * (sum of all operands), f32, any shape; the result may take the storage of a dying operand.
inline void add_kernel(const OpCall& call) {
  const auto scale = static_cast<float>(call.attrs.real("scale"));
  float* out = call.out[0].as<float>();
  call.ctx.pool->parallel_for(call.out[0].type.num_elements(), 16, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin; i < end; ++i) {
      float sum = 0;
      for (const ConstTensorRef& operand : call.in) sum += operand.as<float>()[i];
      out[i] = scale * sum;
    }
  });
}
inline const AttrDecl kAddAttrs[] = {{"scale", AttrKind::kFloat, AttrValue(1.0)}};
inline const InPlace kAddReuse[] = {{0, 0}, {1, 0}};
inline const OpDef toy_add{
    .name = "toy_add", .attrs = kAddAttrs, .infer = infer_same, .kernel = add_kernel, .may_reuse = kAddReuse};

/// (x + 1, 2 x) through scratch memory.
inline void split_kernel(const OpCall& call) {
  const std::int64_t count = call.out[0].type.num_elements();
  float* copy = call.ctx.scratch->take<float>(count);
  std::memcpy(copy, call.in[0].as<float>(), static_cast<std::size_t>(call.in[0].type.bytes()));
  for (std::int64_t i = 0; i < count; ++i) {
    call.out[0].as<float>()[i] = copy[i] + 1;
    call.out[1].as<float>()[i] = copy[i] * 2;
  }
}
inline const OpDef toy_split{
    .name = "toy_split",
    .infer = [](std::span<const TensorType> in, const Attrs&) -> Result<std::vector<TensorType>> {
      DI_TRY(expect_operands(in, 1, 1));
      return std::vector{in[0], in[0]};
    },
    .kernel = split_kernel};

/// out[t, j] = x[t, j mod N], f32[T, width].
inline void resize_kernel(const OpCall& call) {
  const Shape& to = call.out[0].type.shape;
  const std::int64_t from = call.in[0].type.shape[1];
  for (std::int64_t i = 0; i < to.num_elements(); ++i) {
    call.out[0].as<float>()[i] = call.in[0].as<float>()[i / to[1] * from + i % to[1] % from];
  }
}
inline const AttrDecl kWidthAttrs[] = {{"width", AttrKind::kInt}};
inline const OpDef toy_resize{
    .name = "toy_resize",
    .attrs = kWidthAttrs,
    .infer = [](std::span<const TensorType> in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
      DI_TRY(expect_operands(in, 1, 1));
      return std::vector{TensorType{DType::kF32, {in[0].shape[0], attrs.integer("width")}}};
    },
    .kernel = resize_kernel};

/// Rows [begin, begin + count) of x, as a view.
inline const AttrDecl kRowsAttrs[] = {{"begin", AttrKind::kInt}, {"count", AttrKind::kInt}};
inline const OpDef toy_rows{
    .name = "toy_rows",
    .attrs = kRowsAttrs,
    .infer = [](std::span<const TensorType> in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
      DI_TRY(expect_operands(in, 1, 1));
      DI_TRY(expect(in[0].shape.rank() == 2 && attrs.integer("begin") >= 0 && attrs.integer("count") >= 1 &&
                        attrs.integer("begin") <= in[0].shape[0] &&
                        attrs.integer("count") <= in[0].shape[0] - attrs.integer("begin"),
                    "rows outside x"));
      return std::vector{TensorType{in[0].dtype, {attrs.integer("count"), in[0].shape[1]}}};
    },
    .view_offset =
        [](std::span<const TensorType> in, const Attrs& attrs) {
          return attrs.integer("begin") * in[0].shape[1] * dtype_bytes(in[0].dtype);
        }};

/// root[slot[i], base ...] = rows[i], in place.
inline void store_kernel(const OpCall& call) {
  const std::int64_t width = call.in[2].type.shape[1];
  for (std::int64_t i = 0; i < call.in[2].type.shape[0]; ++i) {
    std::uint8_t* row = call.out[0].as<std::uint8_t>() + call.in[1].as<std::int32_t>()[i] * call.out[0].type.shape[1];
    std::memcpy(row + call.attrs.integer("base"), call.in[2].as<std::uint8_t>() + i * width,
                static_cast<std::size_t>(width));
  }
}
inline const AttrDecl kViewAttrs[] = {
    {"base", AttrKind::kInt}, {"rows", AttrKind::kInt, AttrValue(std::int64_t{1})}, {"row_bytes", AttrKind::kInt}};
inline const InPlace kStoreInPlace[] = {{0, 0}};
inline const OpDef toy_store{
    .name = "toy_store",
    .attrs = kViewAttrs,
    .infer = [](std::span<const TensorType> in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
      DI_TRY(expect_operands(in, 3, 3));
      const std::int64_t count = in[1].num_elements();
      DI_TRY(expect_type("rows", in[2], {DType::kU8, {count, attrs.integer("row_bytes")}}));
      return std::vector{in[0]};
    },
    .kernel = store_kernel,
    .in_place = kStoreInPlace};

/// root[slot[i], base ...] as u8[M, row_bytes].
inline void load_kernel(const OpCall& call) {
  const std::int64_t width = call.out[0].type.shape[1];
  for (std::int64_t i = 0; i < call.out[0].type.shape[0]; ++i) {
    const std::uint8_t* row =
        call.in[0].as<std::uint8_t>() + call.in[1].as<std::int32_t>()[i] * call.in[0].type.shape[1];
    std::memcpy(call.out[0].as<std::uint8_t>() + i * width, row + call.attrs.integer("base"),
                static_cast<std::size_t>(width));
  }
}
inline const OpDef toy_load{
    .name = "toy_load",
    .attrs = kViewAttrs,
    .infer = [](std::span<const TensorType> in, const Attrs& attrs) -> Result<std::vector<TensorType>> {
      DI_TRY(expect_operands(in, 2, 2));
      return std::vector{TensorType{DType::kU8, {in[1].num_elements(), attrs.integer("row_bytes")}}};
    },
    .kernel = load_kernel};

/// Sum over the slices of a (possibly segmented) f32 weight [E, N], added to every row of x [T, N].
inline void experts_kernel(const OpCall& call) {
  const Shape& shape = call.out[0].type.shape;
  for (std::int64_t i = 0; i < shape.num_elements(); ++i) {
    float sum = call.in[0].as<float>()[i];
    for (std::int64_t e = 0; e < call.in[1].type.shape[0]; ++e) sum += call.in[1].slice<float>(e)[i % shape[1]];
    call.out[0].as<float>()[i] = sum;
  }
}
inline const OpDef toy_experts{
    .name = "toy_experts",
    .infer = [](std::span<const TensorType> in, const Attrs&) -> Result<std::vector<TensorType>> {
      DI_TRY(expect_operands(in, 2, 2));
      return std::vector{in[0]};
    },
    .kernel = experts_kernel};

inline const OpDef toy_host{
    .name = "toy_host", .level = OpLevel::kHost, .attrs = kAddAttrs, .infer = infer_same, .kernel = add_kernel};

inline const AttrDecl kSeqAttrs[] = {{"seq", AttrKind::kInt}};
inline void copy_kernel(const OpCall& call) {
  std::memcpy(call.out[0].data, call.in[0].data, static_cast<std::size_t>(call.out[0].type.bytes()));
}
inline const OpDef toy_collective{.name = "toy_collective",
                                  .level = OpLevel::kCollective,
                                  .attrs = kSeqAttrs,
                                  .infer = infer_same,
                                  .kernel = copy_kernel};

/// One attribute of every kind.
inline const AttrDecl kKindsAttrs[] = {{"flag", AttrKind::kBool, AttrValue(true)},
                                       {"count", AttrKind::kInt, AttrValue(std::int64_t{-3})},
                                       {"ratio", AttrKind::kFloat, AttrValue(0.1)},
                                       {"text", AttrKind::kString, AttrValue(std::string("a"))},
                                       {"form", AttrKind::kWord, AttrValue(Word{"v16"})},
                                       {"out", AttrKind::kDType, AttrValue(DType::kBF16)},
                                       {"axes", AttrKind::kInts, AttrValue(std::vector<std::int64_t>{0, 1})}};
inline const OpDef toy_kinds{.name = "toy_kinds", .attrs = kKindsAttrs, .infer = infer_same, .kernel = copy_kernel};

/// An op whose result has a host-only element type.
inline const OpDef toy_wide{
    .name = "toy_wide",
    .infer = [](std::span<const TensorType> in, const Attrs&) -> Result<std::vector<TensorType>> {
      DI_TRY(expect_operands(in, 1, 1));
      return std::vector{TensorType{DType::kS64, in[0].shape}};
    },
    .kernel =
        [](const OpCall& call) {
          std::memset(call.out[0].data, 0, static_cast<std::size_t>(call.out[0].type.bytes()));
        }};

inline const OpRegistry& toy_registry() {
  static const OpRegistry registry({&toy_add, &toy_split, &toy_rows, &toy_store, &toy_load, &toy_experts, &toy_host,
                                    &toy_collective, &toy_kinds, &toy_wide, &toy_resize});
  return registry;
}

/// A computation that uses inputs of every role, a view, an in-place root and an op with two results.
/// x f32[4, 8], slots s32[2], weights f32[3, 8] -> "y" f32[4, 8], "loaded" u8[2, 4], and the root.
struct ToyModel {
  WeightRef weight{"layers.0.w", {{DType::kF32, {3, 8}}, nullptr, nullptr}};
  std::map<std::string, Value, std::less<>> operator()(Emitter& e) const {
    const PathScope layer(e, "layers.0");
    const StageScope stage(e, "attn/core");
    const Value x = e.host("x", {DType::kF32, {4, 8}});
    const Value slots = e.host("slots", {DType::kS32, {2}}, InputRange{0, 4});
    const Value bytes = e.host("bytes", {DType::kU8, {2, 4}});
    Value root = e.state("kv_states", {DType::kU8, {5, 32}});
    const Attrs view{{"base", std::int64_t{8}}, {"rows", std::int64_t{2}}, {"row_bytes", std::int64_t{4}}};
    root = e.at("store").emit_one(toy_store, std::array{root, slots, bytes}, view);
    const Value loaded = e.at("load").emit_one(toy_load, std::array{root, slots}, view);
    const auto parts = e.at("split").emit(toy_split, std::array{x});
    const Value sum = e.at("sum").emit_one(toy_add, std::array{parts[0], parts[1], x}, {{"scale", 0.5}});
    const Value head =
        e.at("head").emit_one(toy_rows, std::array{sum}, {{"begin", std::int64_t{1}}, {"count", std::int64_t{2}}});
    const Value twice = e.at("twice").emit_one(toy_add, std::array{head, head});
    const Value mixed = e.at("mixed").emit_one(toy_experts, std::array{sum, e.weight(weight)});
    return {{"y", mixed}, {"twice", twice}, {"loaded", loaded}};
  }
};

/// A deep chain with the buffer sizes of a decoder layer: wide streams that live through the layer, a query eight times
/// the hidden size, expert activations, cross-layer values and a root with one store and one load a layer.
struct DeepModel {
  std::int64_t num_layers = 40;
  std::int64_t hidden = 40;
  std::map<std::string, Value, std::less<>> operator()(Emitter& e) const {
    const auto resize = [&](std::string_view name, const Value& x, std::int64_t width) {
      return e.at(name).emit_one(toy_resize, std::array{x}, {{"width", width}});
    };
    const auto add = [&](std::string_view name, const Value& a, const Value& b) {
      return e.at(name).emit_one(toy_add, std::array{a, b}, {{"scale", 0.5}});
    };
    const Value slots = e.host("slots", {DType::kS32, {2}}, InputRange{0, 4});
    Value rows = e.host("bytes", {DType::kU8, {2, 4}});
    Value streams = resize("hc_init", e.host("x", {DType::kF32, {8, hidden}}), 4 * hidden);
    Value ids;
    for (std::int64_t layer = 0; layer < num_layers; ++layer) {
      const PathScope path(e, fmt::format("layers.{}", layer));
      const Attrs view{{"base", 4 * (layer % 8)}, {"row_bytes", std::int64_t{4}}};
      const Value root =
          e.at("store").emit_one(toy_store, std::array{e.state("kv_states", {DType::kU8, {5, 32}}), slots, rows}, view);
      rows = e.at("load").emit_one(toy_load, std::array{root, slots}, view);
      const Value x = resize("norm", streams, hidden);
      const Value q = resize("wq_b", resize("wq_a", x, hidden / 4), 8 * hidden);
      if (layer % 4 == 0) ids = resize("topk", x, 64);
      const Value o = resize("wo", add("core", q, resize("spread", ids, 8 * hidden)), hidden);
      streams = add("attn_out", streams, resize("expand", o, 4 * hidden));
      const auto halves =
          e.at("split").emit(toy_split, std::array{resize("gate", resize("ffn_norm", streams, hidden), 2 * hidden)});
      const Value y = resize("w2", add("swiglu", halves[0], halves[1]), hidden);
      streams = add("ffn_out", streams, resize("expand", y, 4 * hidden));
    }
    return {{"logits", resize("head", streams, 16 * hidden)}, {"loaded", rows}};
  }
};

}  // namespace deepinfer::graph::testing
