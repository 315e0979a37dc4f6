#include "engine/sampling/stop_scanner.h"

#include <algorithm>

namespace deepinfer::engine {

StopScanner::StopScanner(const std::vector<std::string>& stops, StopText where) : nodes_(1), where_(where) {
  for (std::size_t i = 0; i < stops.size(); ++i) insert(stops[i], i);
  link();
}

std::optional<std::uint32_t> StopScanner::child(std::uint32_t node, std::uint8_t byte) const {
  const auto& children = nodes_[node].children;
  const auto it = std::ranges::lower_bound(children, byte, {}, &std::pair<std::uint8_t, std::uint32_t>::first);
  if (it == children.end() || it->first != byte) return std::nullopt;
  return it->second;
}

void StopScanner::insert(std::string_view text, std::size_t index) {
  std::uint32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<std::uint8_t>(c);
    if (const auto existing = child(node, byte)) {
      node = *existing;
      continue;
    }
    const auto added = static_cast<std::uint32_t>(nodes_.size());
    nodes_.push_back({.depth = nodes_[node].depth + 1});
    auto& children = nodes_[node].children;
    const auto at = std::ranges::lower_bound(children, byte, {}, &std::pair<std::uint8_t, std::uint32_t>::first);
    children.insert(at, {byte, added});
    node = added;
  }
  if (nodes_[node].match) return;  // a repeated string: the first keeps the index
  nodes_[node].match = index;
  nodes_[node].match_bytes = nodes_[node].depth;
}

std::uint32_t StopScanner::next(std::uint32_t node, std::uint8_t byte) const {
  while (true) {
    if (const auto found = child(node, byte)) return *found;
    if (node == 0) return 0;
    node = nodes_[node].fail;
  }
}

// Breadth first: the failure link of a node is shallower, so it is complete when the node is reached.
void StopScanner::link() {
  std::vector<std::uint32_t> queue{0};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    const std::uint32_t parent = queue[i];
    for (const auto& [byte, node] : nodes_[parent].children) {
      nodes_[node].fail = parent == 0 ? 0 : next(nodes_[parent].fail, byte);
      const Node& shorter = nodes_[nodes_[node].fail];
      if (!nodes_[node].match && shorter.match) {
        nodes_[node].match = shorter.match;
        nodes_[node].match_bytes = shorter.match_bytes;
      }
      queue.push_back(node);
    }
  }
}

StopScanner::Output StopScanner::push(std::string_view text) {
  for (const char c : text) {
    held_.push_back(c);
    state_ = next(state_, static_cast<std::uint8_t>(c));
    if (!nodes_[state_].match) continue;
    const std::size_t cut = where_ == StopText::kInclude ? 0 : nodes_[state_].match_bytes;
    Output out{held_.substr(0, held_.size() - cut), nodes_[state_].match};
    held_.clear();
    state_ = 0;
    return out;
  }
  const std::size_t released = held_.size() - nodes_[state_].depth;
  Output out{held_.substr(0, released), std::nullopt};
  held_.erase(0, released);
  return out;
}

std::string StopScanner::finish() {
  state_ = 0;
  return std::exchange(held_, {});
}

}  // namespace deepinfer::engine
