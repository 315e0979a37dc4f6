// Result of a verification: one row per case, a table for people, an object for programs.
//
// Source: cli.md, commands `verify …`: a row per case with operation, case, worst error, bound and PASS/FAIL; the last
// line is "N passed, N failed, N skipped".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"

namespace deepinfer::verify {

struct CaseRow {
  enum class Outcome : std::uint8_t { kPass, kFail, kSkip };

  std::string op;       ///< operation or vector group, e.g. "encode"
  std::string name;     ///< case within it
  double worst = 0;     ///< largest error found; for exact checks the number of differing elements
  double bound = 0;     ///< largest error accepted
  Outcome outcome = Outcome::kPass;
  std::string detail;   ///< first difference, or why the case was skipped; one line, may be empty
};

/// "PASS", "FAIL" or "SKIP".
std::string_view outcome_name(CaseRow::Outcome outcome);

class Report {
 public:
  void add(CaseRow row) { rows_.push_back(std::move(row)); }
  void append(const Report& other) { rows_.insert(rows_.end(), other.rows_.begin(), other.rows_.end()); }

  const std::vector<CaseRow>& rows() const { return rows_; }
  std::int64_t count(CaseRow::Outcome outcome) const;
  /// No case failed.
  bool ok() const { return count(CaseRow::Outcome::kFail) == 0; }

  /// Aligned table and summary line, ending with a newline.
  std::string to_text() const;
  /// {"cases": [{op, case, worst, bound, outcome, detail?}], "passed", "failed", "skipped"}.
  base::Json to_json() const;

 private:
  std::vector<CaseRow> rows_;
};

}  // namespace deepinfer::verify
