// Remembers how the model wrote each call, so that a call that comes back in the history is rendered identically.
//
// Clients return arguments with other spacing, key order or escapes; rendering those canonically would change the
// token prefix and miss the prefix cache. Bounded, least recently used out first; safe to share between threads.
// Source: tokenizer-and-prompts.md 3.5 (last paragraph), server.md 11.3.
#pragma once

#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>

#include "prompt/encoder.h"
#include "prompt/messages.h"

namespace deepinfer::prompt {

class ToolCallRegistry {
 public:
  struct Limits {
    std::int64_t max_calls = 100'000;
    std::int64_t max_bytes = std::int64_t{256} << 20;
  };
  ToolCallRegistry() : ToolCallRegistry(Limits{}) {}
  explicit ToolCallRegistry(Limits limits) : limits_(limits) {}

  /// `call` as it was delivered to the client; `written` is the invoke as the model wrote it
  /// (`OutputParser::call_segments`).
  void remember(const ToolCall& call, const PromptSegments& written);

  /// The invoke as written, if `call` has a known id, the same name and equal arguments (compared as JSON values, key
  /// order aside). Nothing for an edited or unknown call.
  std::optional<PromptSegments> find(const ToolCall& call) const;

  std::int64_t size() const;

 private:
  struct Entry {
    ToolCall call;
    PromptSegments written;
    std::int64_t bytes = 0;
  };
  using Entries = std::list<Entry>;

  void erase(Entries::iterator entry);

  Limits limits_;
  mutable std::mutex mutex_;
  mutable Entries entries_;  // most recently used first
  std::unordered_map<std::string, Entries::iterator> by_id_;
  std::int64_t bytes_ = 0;
};

}  // namespace deepinfer::prompt
