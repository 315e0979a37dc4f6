// Marks a thread as "recording a graph", so that the lower layers can refuse what would tie a trace to the machine.
//
// A trace must depend on its arguments only (graph.md 3.2): reading the environment, the clock, a random source, a file
// or a device capability calls `refuse_in_trace` first. The tracer installs the guard; nothing happens on other
// threads.
#pragma once

#include <string_view>

namespace deepinfer::base {

class TraceGuard {
 public:
  virtual ~TraceGuard() = default;
  /// Throws the tracer's error with the path of the node being traced.
  [[noreturn]] virtual void refuse(std::string_view what) const = 0;

  static const TraceGuard*& current() {
    static thread_local const TraceGuard* guard = nullptr;
    return guard;
  }
};

inline bool in_trace() { return TraceGuard::current() != nullptr; }

/// refuse_in_trace("read of DEEPINFER_LOG"): no effect outside a trace.
inline void refuse_in_trace(std::string_view what) {
  if (const TraceGuard* guard = TraceGuard::current()) guard->refuse(what);
}

}  // namespace deepinfer::base
