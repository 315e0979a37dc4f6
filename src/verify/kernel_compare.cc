#include "verify/kernel_compare.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <vector>

#include "base/error.h"

namespace deepinfer::verify {
namespace {

using base::Json;
using Numbers = std::vector<double>;
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::int64_t kRotatedChannels = 64;  // the last ones of a head: `pair_length` applies to them

template <typename T>
Numbers widen_as(const Tensor& tensor) {
  Numbers out;
  for (const T value : tensor.span<T>()) out.push_back(static_cast<double>(value));
  return out;
}

Numbers widen(const Tensor& tensor) {
  switch (tensor.type().dtype) {
    case DType::kF32: return widen_as<float>(tensor);
    case DType::kF64: return widen_as<double>(tensor);
    case DType::kS32: return widen_as<std::int32_t>(tensor);
    case DType::kS64: return widen_as<std::int64_t>(tensor);
    case DType::kBF16: break;
    default: return widen_as<std::uint8_t>(tensor);
  }
  Numbers out;
  for (const BF16 value : tensor.span<BF16>()) out.push_back(double{to_float(value)});
  return out;
}

std::int64_t row_length(const Tensor& tensor) { return tensor.shape().rank() == 0 ? 1 : tensor.shape().back(); }

Result<double> limit_of(const Json& rule, std::string_view key) {
  const Json* value = rule.find(key);
  const auto number = value == nullptr ? std::nullopt : value->as_double();
  if (!number) return errorf(ErrorCode::kDataCorruption, "rule {} has no number \"{}\"", base::dump_json(rule), key);
  return *number;
}

std::string text_of(const Json& rule, std::string_view key) {
  const Json* value = rule.find(key);
  return value != nullptr && value->is_string() ? value->string() : std::string();
}

double distance(double found, double expected) {
  if (found == expected || (std::isnan(found) && std::isnan(expected))) return 0;
  const double error = std::abs(found - expected);
  return std::isnan(error) ? kInfinity : error;
}

double bf16_ulp(double value) {
  const double magnitude = std::abs(value);
  if (magnitude < 0x1p-126 || !std::isfinite(magnitude)) return 0x1p-133;
  return std::ldexp(1.0, std::ilogb(magnitude) - 7);
}

// ---- rows that may be skipped ----

/// Rows whose decision is closer than the rule's limit. "gap ... and not an exact tie" keeps gap 0; "margin" has no
/// ties. Format: "<gap|margin> below <limit>[ and not an exact tie]".
Result<std::vector<bool>> skipped_rows(const Expected& expected, std::int64_t rows) {
  std::vector<bool> out(static_cast<std::size_t>(rows), false);
  const std::string condition = text_of(expected.rule, "skip_if");
  if (condition.empty()) return out;
  const std::size_t below = condition.find(" below ");
  if (below == std::string::npos || expected.decision == nullptr || expected.decision->type().num_elements() != rows ||
      expected.decision->type().dtype != DType::kF64) {
    return errorf(ErrorCode::kDataCorruption, "skip_if \"{}\" without its f64 tensor of {} rows", condition, rows);
  }
  const double limit = std::strtod(condition.c_str() + below + 7, nullptr);
  const bool keeps_ties = condition.find("not an exact tie") != std::string::npos;
  for (std::size_t r = 0; r < out.size(); ++r) {
    const double gap = expected.decision->as<double>()[r];
    out[r] = gap < limit && !(keeps_ties && gap == 0);
  }
  return out;
}

void note_skips(const std::vector<bool>& skipped, Comparison& out) {
  const auto count = std::count(skipped.begin(), skipped.end(), true);
  if (count > 0) out.detail += fmt::format("{}{} rows skipped", out.detail.empty() ? "" : ", ", count);
}

// ---- exact rules ----

bool same_element(const Tensor& a, const Tensor& b, std::int64_t i) {
  const auto size = static_cast<std::size_t>(dtype_bytes(a.type().dtype));
  const auto at = static_cast<std::size_t>(i) * size;
  if (std::memcmp(static_cast<const std::byte*>(a.data()) + at, static_cast<const std::byte*>(b.data()) + at, size) ==
      0) {
    return true;
  }
  switch (a.type().dtype) {  // any NaN equals any NaN (numerics.md 1)
    case DType::kF32: return std::isnan(a.as<float>()[i]) && std::isnan(b.as<float>()[i]);
    case DType::kBF16: return std::isnan(to_float(a.as<BF16>()[i])) && std::isnan(to_float(b.as<BF16>()[i]));
    default: return false;
  }
}

Result<Comparison> compare_bits(const Tensor& found, const Expected& expected) {
  const std::int64_t length = std::max<std::int64_t>(1, row_length(found));
  const std::int64_t count = found.type().num_elements();
  DI_ASSIGN(const std::vector<bool> skipped, skipped_rows(expected, count / length));
  Comparison out;
  const Numbers ours = widen(found);
  const Numbers stored = widen(expected.stored);
  for (std::int64_t i = 0; i < count; ++i) {
    if (skipped[static_cast<std::size_t>(i / length)] || same_element(found, expected.stored, i)) continue;
    if (out.worst == 0) {
      out.detail = fmt::format("element {} is {}, expected {}", i, ours[static_cast<std::size_t>(i)],
                               stored[static_cast<std::size_t>(i)]);
    }
    out.worst += 1;
  }
  out.pass = out.worst == 0;
  note_skips(skipped, out);
  return out;
}

enum class RowOrder : std::uint8_t { kList, kSet };

Result<Comparison> compare_rows(const Tensor& found, const Expected& expected, RowOrder order) {
  const std::int64_t length = std::max<std::int64_t>(1, row_length(found));
  const std::int64_t rows = found.type().num_elements() / length;
  DI_ASSIGN(const std::vector<bool> skipped, skipped_rows(expected, rows));
  Comparison out;
  const Numbers ours = widen(found);
  const Numbers stored = widen(expected.stored);
  for (std::int64_t r = 0; r < rows; ++r) {
    Numbers a(ours.begin() + r * length, ours.begin() + (r + 1) * length);
    Numbers b(stored.begin() + r * length, stored.begin() + (r + 1) * length);
    if (order == RowOrder::kSet) {
      std::sort(a.begin(), a.end());
      std::sort(b.begin(), b.end());
    }
    if (skipped[static_cast<std::size_t>(r)] || a == b) continue;
    if (out.worst == 0) out.detail = fmt::format("row {} differs", r);
    out.worst += 1;
  }
  out.pass = out.worst == 0;
  note_skips(skipped, out);
  return out;
}

// ---- rules with a tolerance ----

/// An element passes when its error is <= bound * unit(i) or <= floor(i).
struct Tolerance {
  double bound = 0;
  std::function<double(std::size_t)> unit;
  std::function<double(std::size_t)> floor = [](std::size_t) { return 0.0; };
};

Numbers row_maxima(const Numbers& values, std::int64_t length) {
  Numbers out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto begin = i - i % static_cast<std::size_t>(length);
    if (i > begin) {
      out[i] = out[begin];
      continue;
    }
    for (std::size_t k = begin; k < begin + static_cast<std::size_t>(length); ++k) {
      if (std::isfinite(values[k])) out[i] = std::max(out[i], std::abs(values[k]));
    }
  }
  return out;
}

/// Length of the pair that a rotated channel belongs to; 0 for channels that are not rotated.
Numbers pair_lengths(const Numbers& values, std::int64_t length) {
  Numbers out(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto column = static_cast<std::int64_t>(i) % length;
    if (column >= length - kRotatedChannels) out[i] = std::hypot(values[i & ~std::size_t{1}], values[i | 1]);
  }
  return out;
}

Result<Tolerance> ulp_tolerance(const Expected& expected, const Numbers& stored) {
  Tolerance out;
  DI_ASSIGN(out.bound, limit_of(expected.rule, "max"));
  out.unit = [&stored](std::size_t i) { return bf16_ulp(stored[i]); };
  if (expected.rule.find("floor") == nullptr) return out;
  DI_ASSIGN(const double floor, limit_of(expected.rule, "floor"));
  const std::string of = text_of(expected.rule, "of");
  const std::int64_t length = row_length(expected.stored);
  if (of != "row_max" && (of != "pair_length" || length < kRotatedChannels || length % 2 != 0)) {
    return errorf(ErrorCode::kDataCorruption, "floor of \"{}\" with rows of {}, expected row_max or pair_length", of,
                  length);
  }
  Numbers sizes = of == "row_max" ? row_maxima(stored, length) : pair_lengths(stored, length);
  out.floor = [sizes = std::move(sizes), floor](std::size_t i) { return floor * sizes[i]; };
  return out;
}

Result<Tolerance> tolerance_of(const Expected& expected, const Numbers& stored) {
  const std::string kind = text_of(expected.rule, "kind");
  Tolerance out;
  if (kind == "bf16_ulp") return ulp_tolerance(expected, stored);
  if (kind == "rel") {
    DI_ASSIGN(const double relative, limit_of(expected.rule, "rtol"));
    DI_ASSIGN(const double absolute, limit_of(expected.rule, "atol"));
    out.bound = 1;
    out.unit = [&stored, relative, absolute](std::size_t i) { return absolute + relative * std::abs(stored[i]); };
    return out;
  }
  if (kind == "abs") {
    DI_ASSIGN(out.bound, limit_of(expected.rule, "atol"));
    out.unit = [](std::size_t) { return 1.0; };
    return out;
  }
  if (kind == "rel_to_row_max") {
    DI_ASSIGN(out.bound, limit_of(expected.rule, "rtol"));
    Numbers sizes = row_maxima(stored, row_length(expected.stored));
    out.unit = [sizes = std::move(sizes)](std::size_t i) { return sizes[i]; };
    return out;
  }
  return errorf(ErrorCode::kDataCorruption, "comparison kind \"{}\" is unknown", kind);
}

Result<Comparison> compare_within(const Tensor& found, const Expected& expected) {
  const Numbers ours = widen(found);
  const Numbers stored = widen(expected.stored);
  DI_ASSIGN(const Tolerance tolerance, tolerance_of(expected, stored));
  Comparison out;
  out.bound = tolerance.bound;
  const bool is_bf16 = found.type().dtype == DType::kBF16;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double error = distance(ours[i], stored[i]);
    if (is_bf16) {
      out.elements += 1;
      out.differing += error != 0 ? 1 : 0;
    }
    if (error <= tolerance.floor(i)) continue;
    const double unit = tolerance.unit(i);
    const double scaled = unit > 0 ? error / unit : kInfinity;
    if (scaled > tolerance.bound && out.worst <= tolerance.bound) {
      out.detail = fmt::format("element {} is {}, expected {}", i, ours[i], stored[i]);
    }
    out.worst = std::max(out.worst, scaled);
  }
  out.pass = out.worst <= out.bound;
  return out;
}

// ---- truth ----

/// Over the elements that are finite in truth and in the reference; the others are compared with the reference only.
double error_to_truth(const Tensor& found, const Expected& expected) {
  const Numbers ours = widen(found);
  const Numbers stored = widen(expected.stored);
  double worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double exact = expected.truth->as<double>()[i];
    if (std::isfinite(exact) && std::isfinite(stored[i])) worst = std::max(worst, distance(ours[i], exact));
  }
  return worst;
}

Result<Comparison> compare_truth_bound(const Tensor& found, const Expected& expected) {
  if (expected.truth == nullptr || !expected.reference_error) {
    return errorf(ErrorCode::kDataCorruption, "rule truth_bound without truth and reference_error");
  }
  DI_ASSIGN(const double factor, limit_of(expected.rule, "factor"));
  Comparison out;
  out.worst = error_to_truth(found, expected);
  out.bound = factor * *expected.reference_error;
  out.pass = out.worst <= out.bound;
  return out;
}

double largest_truth(const Tensor& truth) {
  double out = 0;
  for (const double value : truth.span<double>()) {
    if (std::isfinite(value)) out = std::max(out, std::abs(value));
  }
  return out;
}

/// numerics.md 12, "Error against truth".
void check_truth(const Tensor& found, const Expected& expected, Comparison& out) {
  const double error = error_to_truth(found, expected);
  const double own = *expected.reference_error;
  const bool is_bf16 = found.type().dtype == DType::kBF16;
  const double bound = is_bf16 ? own : std::max(1.5 * own, 4 * 0x1p-24 * largest_truth(*expected.truth));
  out.pass = out.pass && error <= bound;
  out.detail += fmt::format("{}error to truth {:.4g}{}, reference {:.4g}", out.detail.empty() ? "" : ", ", error,
                            error <= bound ? "" : fmt::format(" above {:.4g}", bound), own);
}

Result<Comparison> apply_rule(const Tensor& found, const Expected& expected) {
  const std::string kind = text_of(expected.rule, "kind");
  if (kind == "none") return Comparison{};
  if (kind == "bit_exact" || kind == "exact_from_scores") return compare_bits(found, expected);
  if (kind == "set_per_row") return compare_rows(found, expected, RowOrder::kSet);
  if (kind == "list_per_row") return compare_rows(found, expected, RowOrder::kList);
  if (kind == "truth_bound") return compare_truth_bound(found, expected);
  return compare_within(found, expected);
}

}  // namespace

Result<Comparison> compare_output(const Tensor& found, const Expected& expected) {
  if (found.type() != expected.stored.type()) {
    return Comparison{.worst = kInfinity, .pass = false,
                      .detail = fmt::format("is {}, expected {}", to_string(found.type()),
                                            to_string(expected.stored.type()))};
  }
  if (expected.truth != nullptr && (expected.truth->type() != TensorType{DType::kF64, found.shape()})) {
    return errorf(ErrorCode::kDataCorruption, "truth is {}, the output {}", to_string(expected.truth->type()),
                  to_string(found.type()));
  }
  DI_ASSIGN(Comparison out, apply_rule(found, expected));
  if (expected.truth != nullptr && expected.reference_error && text_of(expected.rule, "kind") != "truth_bound") {
    check_truth(found, expected, out);
  }
  return out;
}

}  // namespace deepinfer::verify
