// `deepinfer verify kernels DIR`: runs the operator vectors of a folder against the project's own ops.
//
// Every case of DIR/manifest.json gives one row: the op, the case, the worst error in the unit of its rule, the bound,
// and in the detail the error against truth beside the reference's own. Ops whose bf16 results may differ from the
// stored ones get one more row, "equal elements": at least 99.9 % of all elements, or all but 3, must be equal
// (numerics.md 12).
// Source: cli.md, tests/golden/kernels/README.md.
#pragma once

#include <string>

#include "deepinfer/status.h"
#include "verify/report.h"

namespace deepinfer::verify {

struct KernelOptions {
  std::string only;  ///< shell pattern that an op, a case or "<file>/<case>" must match; empty = everything
  std::string isa;   ///< "scalar", "avx2", "avx512"; empty = the fastest of this machine
};

/// Errors: a file that cannot be read or is malformed, an instruction set that is unknown or missing, a pattern that
/// matches no case. Differences, and operations without an adapter, are failed rows.
Result<Report> verify_kernels(const std::string& dir, const KernelOptions& options);

}  // namespace deepinfer::verify
