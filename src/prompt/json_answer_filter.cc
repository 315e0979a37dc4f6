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
  const std::string input = std::exchange(held_, {}) + std::string(delta);
  std::string_view rest = input;
  std::string out;
  while (!rest.empty() && step(rest, out)) {
  }
  held_ = rest;
  return out;
}

std::string JsonAnswerFilter::flush() {
  std::string rest = std::exchange(held_, {});
  if (rest.empty() || state_ == State::kFence) return "";
  return state_ == State::kOutside ? " " : rest;
}

bool JsonAnswerFilter::step(std::string_view& rest, std::string& out) {
  switch (state_) {
    case State::kOutside: return step_outside(rest, out);
    case State::kFence: return step_fence(rest);
    case State::kFenced: return step_fenced(rest, out);
    case State::kBare: break;
  }
  out += rest;
  rest = {};
  return false;
}

bool JsonAnswerFilter::step_outside(std::string_view& rest, std::string& out) {
  const std::size_t value = rest.find_first_of("{[");
  const std::size_t fence = rest.substr(0, value).find(kFenceMark);
  const std::size_t end = std::min(fence, value);
  if (end == std::string_view::npos) {
    const std::size_t hold = trailing_backquotes(rest);  // at most two, else the fence had been found
    if (rest.size() > hold) out += ' ';
    rest.remove_prefix(rest.size() - hold);
    return false;
  }
  if (end > 0) out += ' ';
  state_ = fence < value ? State::kFence : State::kBare;
  rest.remove_prefix(fence < value ? fence + kFenceMark.size() : value);
  return true;
}

bool JsonAnswerFilter::step_fence(std::string_view& rest) {
  const std::size_t value = rest.find_first_of("{[");
  rest.remove_prefix(std::min(value, rest.size()));
  if (value != std::string_view::npos) state_ = State::kFenced;
  return value != std::string_view::npos;
}

// Closing backquotes go, together with the newlines before them.
bool JsonAnswerFilter::step_fenced(std::string_view& rest, std::string& out) {
  const std::size_t fence = rest.find(kFenceMark);
  const bool closed = fence != std::string_view::npos;
  std::size_t keep = closed ? fence : rest.size() - trailing_backquotes(rest);
  while (keep > 0 && rest[keep - 1] == '\n') --keep;
  out += rest.substr(0, keep);
  rest.remove_prefix(closed ? fence + kFenceMark.size() : keep);
  if (closed) state_ = State::kOutside;
  return closed;
}

}  // namespace deepinfer::prompt
