#include "prompt/tool_call_registry.h"

#include <algorithm>

#include "base/json.h"
#include "prompt/python_json.h"

namespace deepinfer::prompt {
namespace {

using base::Json;

// Sorts the keys of every object, so that equal values have equal texts.
void sort_keys(Json& value) {
  if (value.is_array()) {
    for (Json& item : value.items()) sort_keys(item);
  } else if (value.is_object()) {
    std::sort(value.members().begin(), value.members().end(),
              [](const Json::Member& a, const Json::Member& b) { return a.first < b.first; });
    for (auto& [key, item] : value.members()) sort_keys(item);
  }
}

// One text for all spellings of the same arguments; text that is not JSON stands for itself.
std::string canonical_arguments(const std::string& text) {
  const base::JsonLimits limits{.max_depth = 127, .duplicate_keys = base::JsonLimits::DuplicateKeys::kKeepLast};
  auto value = base::parse_json(text, limits);
  if (!value) return text;
  sort_keys(*value);
  return compact_json(*value);
}

std::int64_t size_of(const ToolCall& call, const PromptSegments& written) {
  std::size_t bytes = call.id.size() + call.name.size() + call.arguments.size();
  for (const Segment& segment : written.items()) bytes += segment.text.size() + sizeof(Segment);
  return static_cast<std::int64_t>(bytes);
}

}  // namespace

void ToolCallRegistry::remember(const ToolCall& call, const PromptSegments& written) {
  Entry entry{{call.id, call.name, canonical_arguments(call.arguments)}, written, size_of(call, written)};
  if (entry.bytes > limits_.max_bytes) return;
  const std::lock_guard lock(mutex_);
  if (const auto old = by_id_.find(call.id); old != by_id_.end()) erase(old->second);
  bytes_ += entry.bytes;
  entries_.push_front(std::move(entry));
  by_id_[call.id] = entries_.begin();
  while (bytes_ > limits_.max_bytes || static_cast<std::int64_t>(entries_.size()) > limits_.max_calls) {
    erase(std::prev(entries_.end()));
  }
}

std::optional<PromptSegments> ToolCallRegistry::find(const ToolCall& call) const {
  const std::string arguments = canonical_arguments(call.arguments);
  const std::lock_guard lock(mutex_);
  const auto found = by_id_.find(call.id);
  if (found == by_id_.end()) return std::nullopt;
  const Entry& entry = *found->second;
  if (entry.call.name != call.name || entry.call.arguments != arguments) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, found->second);
  return entry.written;
}

std::int64_t ToolCallRegistry::size() const {
  const std::lock_guard lock(mutex_);
  return static_cast<std::int64_t>(entries_.size());
}

void ToolCallRegistry::erase(Entries::iterator entry) {
  bytes_ -= entry->bytes;
  by_id_.erase(entry->call.id);
  entries_.erase(entry);
}

}  // namespace deepinfer::prompt
