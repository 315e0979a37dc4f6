#include <algorithm>
#include <cmath>
#include <span>

#include "ops/quant_act/quant_act_kernels.h"
#include "tensor/numeric/e2m1.h"
#include "tensor/numeric/e4m3fn.h"

namespace deepinfer::ops {
namespace {

/// The non-negative finite values of the two code tables, ascending.
const std::span<const float> kFp8Values(numeric::kE4M3FnValues.data(), 0x7F);
const std::span<const float> kFp4Values(numeric::kE2M1Values.data(), 8);

/// Index of the table entry nearest to |v|; ties go to the even code.
std::uint8_t nearest(std::span<const float> table, float v) {
  std::size_t best = 0;
  for (std::size_t code = 1; code < table.size(); ++code) {
    const double old_distance = std::abs(std::abs(double{v}) - double{table[best]});
    const double distance = std::abs(std::abs(double{v}) - double{table[code]});
    if (distance < old_distance || (distance == old_distance && code % 2 == 0)) best = code;
  }
  return static_cast<std::uint8_t>(best);
}

struct Scale {
  std::uint8_t byte;
  float value;
};

/// Smallest power of two >= amax * reciprocal, the product in fp32.
Scale power_scale(float amax, float floor, float reciprocal) {
  if (!std::isfinite(amax)) return {0xFF, NAN};
  const float wanted = std::max(amax, floor) * reciprocal;
  int exponent = -127;
  while (std::ldexp(1.0, exponent) < double{wanted}) ++exponent;
  return {static_cast<std::uint8_t>(exponent + 127), static_cast<float>(std::ldexp(1.0, exponent))};
}

Scale e4m3_scale(float amax) {
  if (std::isnan(amax)) return {0x7F, NAN};
  const float wanted = std::min(std::max(amax, 6.0F * 0x1p-9F) / 6.0F, numeric::kE4M3FnMax);
  const std::uint8_t byte = nearest(kFp8Values, wanted);
  return {byte, numeric::kE4M3FnValues[byte]};
}

Scale scale_of(QuantFormat format, float amax, double max) {
  switch (format) {
    case QuantFormat::kAct32: return power_scale(amax, 1e-4F, static_cast<float>(1 / max));
    case QuantFormat::kFp4x32: return power_scale(amax, 6.0F * 0x1p-126F, static_cast<float>(1.0 / 6.0));
    case QuantFormat::kFp4x16: break;
  }
  return e4m3_scale(amax);
}

std::uint8_t encode(QuantFormat format, float x, const Scale& scale, double max) {
  const bool fp8 = format == QuantFormat::kAct32;
  if (std::isnan(scale.value)) return fp8 ? 0x7F : 0;
  const auto limit = fp8 ? static_cast<float>(max) : 6.0F;
  const float v = std::clamp(x / scale.value, -limit, limit);
  const int sign = std::signbit(v) ? (fp8 ? 0x80 : 8) : 0;
  const int magnitude = nearest(fp8 ? kFp8Values : kFp4Values, v);
  return static_cast<std::uint8_t>(sign | magnitude);
}

}  // namespace

void quantise_by_search(QuantFormat format, const BF16* x, std::int64_t n, double max, std::uint8_t* codes,
                        std::uint8_t* scales) {
  const std::int64_t block = quant_block(format);
  std::fill_n(codes, code_bytes(format, n), std::uint8_t{0});
  for (std::int64_t b = 0; b < n / block; ++b) {
    float amax = 0;
    for (std::int64_t i = b * block; i < (b + 1) * block; ++i) {
      const float v = std::abs(to_float(x[i]));
      if (!(v <= amax)) amax = v;
      if (std::isnan(v)) break;
    }
    const Scale scale = scale_of(format, amax, max);
    scales[b] = scale.byte;
    for (std::int64_t i = b * block; i < (b + 1) * block; ++i) {
      const int code = encode(format, to_float(x[i]), scale, max);
      if (format == QuantFormat::kAct32) {
        codes[i] = static_cast<std::uint8_t>(code);
      } else {
        codes[i / 2] = static_cast<std::uint8_t>(codes[i / 2] | (code << (4 * (i % 2))));
      }
    }
  }
}

void quant_act_reference(const graph::OpCall& call) {
  const QuantFormat format = *quant_format(call.attrs);
  const std::int64_t n = call.in[0].type.shape.back();
  for (std::int64_t r = 0; r < call.in[0].type.num_elements() / n; ++r) {
    quantise_by_search(format, call.in[0].as<BF16>() + r * n, n, call.attrs.real("max"),
                       call.out[0].as<std::uint8_t>() + r * code_bytes(format, n),
                       call.out[1].as<std::uint8_t>() + r * (n / quant_block(format)));
  }
}

}  // namespace deepinfer::ops
