// Problems of one load, collected so that a user sees all of them at once. Source: checkpoint.md 6, reliability.md 8.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "deepinfer/status.h"

namespace deepinfer::checkpoint {

/// Text of a file, safe to print: control bytes become \xNN, at most 300 bytes are kept.
std::string printable(std::string_view text);

struct Problem {
  ErrorCode code = ErrorCode::kInternal;
  std::string where;    ///< file, tensor or field, most general first: "model.safetensors: embed.weight"
  std::string message;  ///< what was found and what is accepted

  std::string to_string() const;  ///< "kDataCorruption: model.safetensors: ..."
};

/// Keeps the first 100 problems and counts the rest.
class Problems {
 public:
  static constexpr std::size_t kMaxKept = 100;

  template <typename... Args>
  void add(ErrorCode code, std::string where, fmt::format_string<Args...> format, Args&&... args) {
    add({code, std::move(where), fmt::format(format, std::forward<Args>(args)...)});
  }
  /// `where` is made printable here; file text inside `message` is the caller's to wrap.
  void add(Problem problem);
  /// Adds all problems of `other`, with `where` in front of theirs.
  void merge(const Problems& other, const std::string& where);

  bool empty() const { return total_ == 0; }
  std::int64_t total() const { return total_; }
  const std::vector<Problem>& kept() const { return kept_; }
  /// ok when empty; otherwise the code of the first problem and a line for each kept one.
  Status to_status(const std::string& subject) const;

 private:
  std::vector<Problem> kept_;
  std::int64_t total_ = 0;
};

}  // namespace deepinfer::checkpoint
