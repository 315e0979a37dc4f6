#include "verify/report.h"

#include <algorithm>

#include <fmt/format.h>

namespace deepinfer::verify {

using Outcome = CaseRow::Outcome;

std::string_view outcome_name(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass: return "PASS";
    case Outcome::kFail: return "FAIL";
    case Outcome::kSkip: return "SKIP";
  }
  return "";
}

std::int64_t Report::count(Outcome outcome) const {
  return std::count_if(rows_.begin(), rows_.end(), [outcome](const CaseRow& row) { return row.outcome == outcome; });
}

std::string Report::to_text() const {
  std::size_t op_width = 2;
  std::size_t name_width = 4;
  for (const CaseRow& row : rows_) {
    op_width = std::max(op_width, row.op.size());
    name_width = std::max(name_width, row.name.size());
  }
  std::string out = fmt::format("{:<{}}  {:<{}}  {:>10}  {:>10}  result\n", "op", op_width, "case", name_width, "worst",
                                "bound");
  for (const CaseRow& row : rows_) {
    out += fmt::format("{:<{}}  {:<{}}  {:>10.3g}  {:>10.3g}  {}{}{}\n", row.op, op_width, row.name, name_width,
                       row.worst, row.bound, outcome_name(row.outcome), row.detail.empty() ? "" : "  ", row.detail);
  }
  return out + fmt::format("{} passed, {} failed, {} skipped\n", count(Outcome::kPass), count(Outcome::kFail),
                           count(Outcome::kSkip));
}

base::Json Report::to_json() const {
  base::Json cases = base::Json::array();
  for (const CaseRow& row : rows_) {
    base::Json entry = base::Json::object();
    entry.set("op", row.op);
    entry.set("case", row.name);
    entry.set("worst", row.worst);
    entry.set("bound", row.bound);
    entry.set("outcome", outcome_name(row.outcome));
    if (!row.detail.empty()) entry.set("detail", row.detail);
    cases.push(std::move(entry));
  }
  base::Json out = base::Json::object();
  out.set("cases", std::move(cases));
  out.set("passed", count(Outcome::kPass));
  out.set("failed", count(Outcome::kFail));
  out.set("skipped", count(Outcome::kSkip));
  return out;
}

}  // namespace deepinfer::verify
