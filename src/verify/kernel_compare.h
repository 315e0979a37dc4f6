// Comparison of one output with its vector: the rules of the manifest's `conventions`, and the error against truth.
// Source: tests/golden/kernels/manifest.json, numerics.md 12.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/json.h"
#include "deepinfer/status.h"
#include "tensor/tensor.h"

namespace deepinfer::verify {

/// What an output is compared with.
struct Expected {
  const Tensor& stored;                    ///< the reference's output
  const base::Json& rule;                  ///< {"kind": ..., its limits}
  const Tensor* truth = nullptr;           ///< f64, where the file has it
  std::optional<double> reference_error;   ///< largest |stored - truth|
  const Tensor* decision = nullptr;        ///< f64 [rows]: distance to the decision, for rules with `skip_if`
};

struct Comparison {
  double worst = 0;   ///< largest error in the unit of the rule; for exact rules the number of differing elements
  double bound = 0;   ///< largest accepted
  bool pass = true;
  std::string detail;            ///< first difference, error against truth, skipped rows
  std::int64_t elements = 0;     ///< compared for equality (bf16 outputs of rules with a tolerance)
  std::int64_t differing = 0;    ///< of these, not equal to the stored value
};

/// Applies the rule and, where truth exists, numerics.md 12: bf16 error <= the reference's own; fp32 error <= 1.5 times
/// it or 4 * 2^-24 * max|truth|. Errors: kDataCorruption for a rule or tensor that makes no sense.
Result<Comparison> compare_output(const Tensor& found, const Expected& expected);

}  // namespace deepinfer::verify
