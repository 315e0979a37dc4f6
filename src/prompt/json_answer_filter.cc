#include "prompt/json_answer_filter.h"

#include <algorithm>
#include <utility>

namespace deepinfer::prompt {
namespace {

constexpr std::string_view kFenceMark = "```";

std::size_t trailing_backquotes(std::string_view text) {
  const std::size_t last = text.find_last_not_of('`');
  return last == std::string_view::npos ? text.size() : text.size() - last - 1;
}

}  // namespace

std::string JsonAnswerFilter::push(std::string_view delta) {
  held_ += delta;
  std::string out;
  while (!held_.empty() && step(out)) {
  }
  return out;
}

std::string JsonAnswerFilter::flush() {
  std::string rest = std::exchange(held_, {});
  if (rest.empty() || state_ == State::kFence) return "";
  return state_ == State::kOutside ? " " : rest;
}

bool JsonAnswerFilter::step(std::string& out) {
  switch (state_) {
    case State::kOutside: return step_outside(out);
    case State::kFence: return step_fence();
    case State::kFenced: return step_fenced(out);
    case State::kBare: break;
  }
  out += std::exchange(held_, {});
  return false;
}

bool JsonAnswerFilter::step_outside(std::string& out) {
  const std::size_t fence = held_.find(kFenceMark);
  const std::size_t value = held_.find_first_of("{[");
  const std::size_t end = std::min(fence, value);
  if (end == std::string::npos) {
    const std::size_t hold = trailing_backquotes(held_);  // at most two, else the fence had been found
    if (held_.size() > hold) out += ' ';
    held_.erase(0, held_.size() - hold);
    return false;
  }
  if (end > 0) out += ' ';
  held_.erase(0, fence < value ? fence + kFenceMark.size() : value);
  state_ = fence < value ? State::kFence : State::kBare;
  return true;
}

bool JsonAnswerFilter::step_fence() {
  const std::size_t value = held_.find_first_of("{[");
  held_.erase(0, std::min(value, held_.size()));
  if (value != std::string::npos) state_ = State::kFenced;
  return value != std::string::npos;
}

bool JsonAnswerFilter::step_fenced(std::string& out) {
  const std::size_t fence = held_.find(kFenceMark);
  const bool closed = fence != std::string::npos;
  std::size_t keep = closed ? fence : held_.size() - trailing_backquotes(held_);
  while (keep > 0 && held_[keep - 1] == '\n') --keep;
  // Backquotes after other text than newlines close the fence too; the newlines before them go with them.
  out.append(held_, 0, keep);
  held_.erase(0, closed ? fence + kFenceMark.size() : keep);
  if (closed) state_ = State::kOutside;
  return closed;
}

}  // namespace deepinfer::prompt
