// Adapters of tables.safetensors and quantisers.safetensors: codecs, block scales, quantise and dequantise.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/registry.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3.h"
#include "tensor/numeric/e4m3fn.h"
#include "tensor/numeric/e8m0.h"
#include "tensor/numeric/quantise.h"
#include "tensor/numeric/range.h"
#include "verify/kernel_case.h"

namespace deepinfer::verify {
namespace {

using Byte = std::uint8_t;

CaseOutputs one_output(std::string_view part, Tensor tensor) {
  CaseOutputs out;
  out.tensors.emplace(part, std::move(tensor));
  return out;
}

// ---- decode tables ----

template <float (*kDecode)(Byte)>
Result<CaseOutputs> decode_table(const KernelCase& c) {
  return one_output("values", mapped<float, Byte>(c.tensor("codes"), DType::kF32, kDecode));
}
float e2m1_value(Byte code) { return numeric::decode_e2m1(code); }

// ---- functions of every bf16 bit pattern ----

enum class FreeInputs : std::uint8_t { kNan, kNanAndInfinity };

/// codes[i] = fn(bf16 with bits i). Where the note leaves the result free, the stored code stands in.
template <typename F>
Result<CaseOutputs> over_all_bf16(const KernelCase& c, FreeInputs free, const F& fn) {
  constexpr std::int64_t kPatterns = 65536;
  const Tensor& stored = c.tensor("codes");
  if (stored.type() != TensorType{DType::kU8, {kPatterns}}) {
    return errorf(ErrorCode::kDataCorruption, "codes are {}, expected u8[{}]", to_string(stored.type()), kPatterns);
  }
  Tensor out = stored.clone();
  for (std::int64_t i = 0; i < kPatterns; ++i) {
    const float value = to_float(BF16{static_cast<std::uint16_t>(i)});
    const bool is_free = std::isnan(value) || (free == FreeInputs::kNanAndInfinity && std::isinf(value));
    if (!is_free) out.as<Byte>()[i] = fn(value);
  }
  return one_output("codes", std::move(out));
}

Result<CaseOutputs> round_e4m3(const KernelCase& c) {
  return over_all_bf16(c, FreeInputs::kNan, numeric::encode_e4m3fn);
}
Result<CaseOutputs> round_e2m1(const KernelCase& c) {
  return over_all_bf16(c, FreeInputs::kNan, numeric::encode_e2m1);
}
Result<CaseOutputs> scale_448(const KernelCase& c) {
  return over_all_bf16(c, FreeInputs::kNanAndInfinity,
                       [](float amax) { return numeric::act32_scale(std::abs(amax), numeric::kE4M3FnMax); });
}
Result<CaseOutputs> scale_224(const KernelCase& c) {
  return over_all_bf16(c, FreeInputs::kNanAndInfinity,
                       [](float amax) { return numeric::act32_scale(std::abs(amax), numeric::kTrn2Range); });
}
Result<CaseOutputs> scale_fp4(const KernelCase& c) {
  return over_all_bf16(c, FreeInputs::kNanAndInfinity,
                       [](float amax) { return numeric::fp4_32_scale(std::abs(amax)); });
}
Result<CaseOutputs> scale_fp4_16(const KernelCase& c) {
  return over_all_bf16(c, FreeInputs::kNan, [](float amax) { return numeric::fp4_16_scale(std::abs(amax)); });
}

Result<CaseOutputs> halve(const KernelCase& c) {
  const Tensor& codes = c.tensor("codes");
  const auto of_codes = [&](auto fn) {
    return mapped<Byte, Byte>(codes, DType::kU8, [fn](Byte code) { return static_cast<Byte>(fn(code)); });
  };
  CaseOutputs out;
  out.tensors.emplace("halved", of_codes(numeric::halve_e4m3));
  out.tensors.emplace("exact", of_codes(numeric::halves_exactly));
  out.tensors.emplace("needs_rescale", of_codes(numeric::needs_rescale));
  return out;
}

// ---- quantisers ----

struct Format {
  std::string_view fmt;
  std::string_view scale;
  std::int64_t block;
};

/// A block with an infinity or NaN must not decode to numbers only: the fault has to stay visible.
void check_faults_visible(const Tensor& x, const Tensor& dequant, std::int64_t block, CaseOutputs& out) {
  const auto is_finite = [](BF16 value) { return std::isfinite(to_float(value)); };
  for (std::int64_t begin = 0; begin < x.type().num_elements(); begin += block) {
    const std::span<const BF16> in(x.as<BF16>() + begin, static_cast<std::size_t>(block));
    const std::span<const BF16> decoded(dequant.as<BF16>() + begin, static_cast<std::size_t>(block));
    if (!std::ranges::all_of(in, is_finite) && std::ranges::all_of(decoded, is_finite)) {
      out.failures.push_back(fmt::format("the non-finite block at element {} decodes to finite values", begin));
    }
  }
}

Result<CaseOutputs> quantise(const KernelCase& c, const Format& format) {
  const Tensor& x = c.tensor("x");
  graph::Attrs attrs{{"fmt", graph::Word{std::string(format.fmt)}},
                     {"block", format.block},
                     {"scale", graph::Word{std::string(format.scale)}}};
  const graph::Attrs dequant_attrs = attrs;
  attrs.set("max", c.number("max", double{numeric::kE4M3FnMax}));
  DI_ASSIGN(std::vector<Tensor> codes, call_op(c.machine(), ops::quant_act_def, {&x}, attrs));
  DI_ASSIGN(Tensor back, call_one(c.machine(), ops::dequant_def, {&codes[0], &codes[1]}, dequant_attrs));
  CaseOutputs out;
  check_faults_visible(x, back, format.block, out);
  out.tensors.emplace("q", std::move(codes[0]));
  out.tensors.emplace("scale", std::move(codes[1]));
  out.tensors.emplace("dequant", std::move(back));
  return out;
}

Result<CaseOutputs> quantise_act32(const KernelCase& c) { return quantise(c, {"e4m3", "ue8m0", 32}); }
Result<CaseOutputs> quantise_fp4_32(const KernelCase& c) { return quantise(c, {"e2m1", "ue8m0", 32}); }
Result<CaseOutputs> quantise_fp4_16(const KernelCase& c) { return quantise(c, {"e2m1", "e4m3", 16}); }

}  // namespace

std::span<const KernelAdapter> table_adapters() {
  static const std::vector<KernelAdapter> adapters = {
      {"decode e4m3", {{"codes", DType::kU8, 1}}, decode_table<numeric::decode_e4m3fn>},
      {"decode e8m0", {{"codes", DType::kU8, 1}}, decode_table<numeric::decode_e8m0>},
      {"decode e2m1", {{"codes", DType::kU8, 1}}, decode_table<e2m1_value>},
      {"round bf16 to e4m3, saturating", {}, round_e4m3},
      {"round bf16 to e2m1, saturating", {}, round_e2m1},
      {"amax -> e8m0 for FP8 (448)", {}, scale_448},
      {"amax -> e8m0 for IEEE E4M3 (224)", {}, scale_224},
      {"amax -> e8m0 for FP4 (6)", {}, scale_fp4},
      {"amax/6 -> e4m3 for FP4-16", {}, scale_fp4_16},
      {"rescale e4m3 bytes for a 240-range format", {{"codes", DType::kU8, 1}}, halve},
      {"act_quant32", {{"x", DType::kBF16, 2}}, quantise_act32},
      {"act_quant32 for a 240-range E4M3", {{"x", DType::kBF16, 2}}, quantise_act32},
      {"fp4_quant32_e8m0", {{"x", DType::kBF16, 2}}, quantise_fp4_32},
      {"fp4_quant16_e4m3", {{"x", DType::kBF16, 2}}, quantise_fp4_16},
  };
  return adapters;
}

}  // namespace deepinfer::verify
