#include "prompt/encoder.h"

#include <algorithm>

namespace deepinfer::prompt {
namespace {

std::int64_t code_points(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

}  // namespace

void PromptSegments::text(std::string_view text) {
  if (text.empty()) return;
  if (!items_.empty() && items_.back().kind == Segment::Kind::kText) {
    items_.back().text += text;
  } else {
    items_.push_back({Segment::Kind::kText, std::string(text)});
  }
}

void PromptSegments::token(std::string_view literal) {
  items_.push_back({Segment::Kind::kToken, std::string(literal)});
}

void PromptSegments::text_with_tokens(std::string_view rest, const std::vector<std::string_view>& literals) {
  while (!rest.empty()) {
    std::size_t first = std::string_view::npos;
    std::string_view found;
    for (const std::string_view literal : literals) {
      const std::size_t at = rest.find(literal);
      if (at < first) first = at, found = literal;
    }
    if (found.empty()) break;
    text(rest.substr(0, first));
    token(found);
    rest.remove_prefix(first + found.size());
  }
  text(rest);
}

void PromptSegments::append(const PromptSegments& other) {
  for (const Segment& segment : other.items_) {
    segment.kind == Segment::Kind::kText ? text(segment.text) : token(segment.text);
  }
}

std::string PromptSegments::prompt() const {
  std::string out;
  for (const Segment& segment : items_) out += segment.text;
  return out;
}

std::vector<PromptSegments::Range> PromptSegments::special_ranges() const {
  std::vector<Range> ranges;
  std::int64_t at = 0;
  for (const Segment& segment : items_) {
    const std::int64_t end = at + code_points(segment.text);
    if (segment.kind == Segment::Kind::kToken) ranges.emplace_back(at, end);
    at = end;
  }
  return ranges;
}

}  // namespace deepinfer::prompt
