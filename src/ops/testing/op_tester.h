// Shared by every op's test and benchmark: seeded inputs, one call of a kernel or of the reference, and the checks that
// hold for all ops (same bits on every instruction set and thread count).
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "base/check.h"
#include "graph/op_def.h"
#include "ops/isa/isa.h"
#include "ops/registry.h"
#include "tensor/tensor.h"

namespace deepinfer::ops::testing {

/// Seeded generator of operands. The seed of a test is the hash of its name, so that a failure repeats.
class Inputs {
 public:
  explicit Inputs(std::string_view name) : rng_(std::hash<std::string_view>{}(name)) {}

  /// Normal values times `scale`.
  Tensor bf16(Shape shape, double scale = 1) {
    return make<BF16>(DType::kBF16, shape, [&] { return to_bf16(static_cast<float>(normal_(rng_) * scale)); });
  }
  Tensor f32(Shape shape, double scale = 1) {
    return make<float>(DType::kF32, shape, [&] { return static_cast<float>(normal_(rng_) * scale); });
  }
  /// Uniform integers in [lo, hi].
  Tensor s32(Shape shape, std::int32_t lo, std::int32_t hi) {
    std::uniform_int_distribution<std::int32_t> pick(lo, hi);
    return make<std::int32_t>(DType::kS32, shape, [&] { return pick(rng_); });
  }
  /// Bytes in [lo, hi]; e4m3fn codes without NaN: use codes().
  Tensor u8(Shape shape, int lo = 0, int hi = 255) {
    std::uniform_int_distribution<int> pick(lo, hi);
    return make<std::uint8_t>(DType::kU8, shape, [&] { return static_cast<std::uint8_t>(pick(rng_)); });
  }
  /// e4m3fn codes without NaN.
  Tensor codes(Shape shape) {
    Tensor out = u8(shape);
    for (auto& code : out.span<std::uint8_t>()) {
      if ((code & 0x7F) == 0x7F) code ^= 1;
    }
    return out;
  }
  std::mt19937_64& rng() { return rng_; }

 private:
  template <typename T, typename F>
  Tensor make(DType dtype, Shape shape, F next) {
    Tensor out(dtype, shape);
    for (auto& value : out.span<T>()) value = next();
    return out;
  }
  std::mt19937_64 rng_;
  std::normal_distribution<double> normal_;
};

struct RunWith {
  const isa::Kernels* isa = &isa::scalar();
  int threads = 1;
};

inline std::vector<Tensor> call(const graph::OpDef& op, const std::vector<const Tensor*>& in, const graph::Attrs& given,
                                const RunWith& with, bool reference) {
  const auto attrs = graph::complete_attrs(op.attrs, given);
  DI_CHECK(attrs.has_value(), "{}", attrs.error().to_string());
  std::vector<TensorType> types;
  std::vector<ConstTensorRef> refs;
  for (const Tensor* tensor : in) {
    types.push_back(tensor->type());
    refs.push_back(tensor->ref());
  }
  auto results = op.infer(types, *attrs);
  DI_CHECK(results.has_value(), "{}: {}", op.name, results.error().to_string());
  std::vector<Tensor> out;
  std::vector<TensorRef> out_refs;
  for (std::size_t i = 0; i < results->size(); ++i) {
    TensorType type = (*results)[i];
    const Tensor* state = nullptr;
    for (const graph::InPlace& pair : op.in_place) {
      if (pair.result == static_cast<int>(i)) state = in[static_cast<std::size_t>(pair.operand)];
    }
    if (reference && is_float(type.dtype)) type.dtype = DType::kF64;
    out.push_back(state != nullptr ? state->clone() : Tensor(type));
    if (state == nullptr) std::memset(out.back().data(), 0xFB, static_cast<std::size_t>(type.bytes()));
    out_refs.push_back(out.back().ref());
  }
  for (const graph::InPlace& pair : op.in_place) {  // in-place kernels read the operand through the result's storage
    refs[static_cast<std::size_t>(pair.operand)] = out_refs[static_cast<std::size_t>(pair.result)];
  }
  base::ThreadPool pool(with.threads);
  graph::Scratch scratch;
  graph::KernelContext ctx{&pool, with.isa, &scratch};
  (reference ? op.reference : op.kernel)(graph::OpCall{refs, out_refs, *attrs, ctx});
  return out;
}

/// Runs the host kernel on every instruction set and on 1, 2 and 3 threads; all must give the same bytes.
inline std::vector<Tensor> run(const graph::OpDef& op, const std::vector<const Tensor*>& in,
                               const graph::Attrs& attrs = {}) {
  std::vector<Tensor> first = call(op, in, attrs, {}, false);
  for (const isa::Kernels* isa : isa::available()) {
    for (const int threads : {1, 2, 3}) {
      const std::vector<Tensor> again = call(op, in, attrs, {isa, threads}, false);
      for (std::size_t i = 0; i < first.size(); ++i) {
        EXPECT_EQ(std::memcmp(first[i].data(), again[i].data(), static_cast<std::size_t>(first[i].type().bytes())), 0)
            << op.name << " result " << i << " differs on " << isa->name << " with " << threads << " threads";
      }
    }
  }
  return first;
}

/// The float64 truth of the same call.
inline std::vector<Tensor> truth(const graph::OpDef& op, const std::vector<const Tensor*>& in,
                                 const graph::Attrs& attrs = {}) {
  return call(op, in, attrs, {}, true);
}

/// Largest |found - truth| - (absolute + relative * |truth|): a value <= 0 passes. Both tensors have equal shapes.
inline double worst_excess(const Tensor& found, const Tensor& expected, double absolute, double relative) {
  double worst = -1;
  for (std::int64_t i = 0; i < found.type().num_elements(); ++i) {
    const double value = found.type().dtype == DType::kBF16 ? double{to_float(found.as<BF16>()[i])}
                                                            : double{found.as<float>()[i]};
    const double reference = expected.as<double>()[i];
    const double excess = std::abs(value - reference) - (absolute + relative * std::abs(reference));
    worst = std::max(worst, std::isnan(value) != std::isnan(reference) ? HUGE_VAL : excess);
  }
  return worst;
}
constexpr double kHalfUlpBF16 = 0x1p-8;  ///< relative error of one bf16 rounding: 8 significant bits, half an ulp

}  // namespace deepinfer::ops::testing
