#include "checkpoint/problems.h"

namespace deepinfer::checkpoint {

std::string printable(std::string_view text) {
  constexpr std::size_t kMaxShown = 300;
  std::string out;
  for (const char c : text.substr(0, kMaxShown)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7F) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return text.size() <= kMaxShown ? out : out + "...";
}

std::string Problem::to_string() const { return fmt::format("{}: {}: {}", error_code_name(code), where, message); }

void Problems::add(Problem problem) {
  ++total_;
  problem.where = printable(problem.where);
  if (kept_.size() < kMaxKept) kept_.push_back(std::move(problem));
}

void Problems::merge(const Problems& other, const std::string& where) {
  for (const Problem& problem : other.kept_) {
    add({problem.code, where.empty() ? problem.where : where + ": " + problem.where, problem.message});
  }
  total_ += other.total_ - static_cast<std::int64_t>(other.kept_.size());
}

Status Problems::to_status(const std::string& subject) const {
  if (empty()) return {};
  std::string text = fmt::format("{}: {} problem{}", subject, total_, total_ == 1 ? "" : "s");
  for (const Problem& problem : kept_) text += "\n  " + problem.to_string();
  const auto hidden = total_ - static_cast<std::int64_t>(kept_.size());
  if (hidden > 0) text += fmt::format("\n  and {} more", hidden);
  return make_error(kept_.front().code, text);
}

}  // namespace deepinfer::checkpoint
