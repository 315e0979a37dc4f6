// A fixed pool with one operation: a statically partitioned parallel loop.
//
// The range is cut into equal contiguous pieces, one a thread, at multiples of `grain`; which thread runs a piece never
// changes what is computed, so results do not depend on the number of threads. The caller runs the first piece.
// Workers spin for a short time before they sleep (a decode step issues thousands of loops).
#pragma once

#include <cstdint>
#include <memory>

namespace deepinfer::base {

/// Non-owning reference to a callable `void(std::int64_t begin, std::int64_t end)`; valid during the call only.
class RangeFn {
 public:
  template <typename F>
  RangeFn(const F& fn)  // NOLINT(google-explicit-constructor): callers pass lambdas
      : object_(&fn), call_([](const void* object, std::int64_t begin, std::int64_t end) {
          (*static_cast<const F*>(object))(begin, end);
        }) {}
  void operator()(std::int64_t begin, std::int64_t end) const { call_(object_, begin, end); }

 private:
  const void* object_;
  void (*call_)(const void*, std::int64_t, std::int64_t);
};

class ThreadPool {
 public:
  /// num_threads counts the caller: 1 = no workers. 0 = one per usable core.
  explicit ThreadPool(int num_threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int num_threads() const;
  /// Runs fn on [0, range) in pieces; returns when all are done. The first exception of any piece is rethrown.
  /// Not re-entrant: fn must not call parallel_for on the same pool (it would run serially inline).
  void parallel_for(std::int64_t range, std::int64_t grain, RangeFn fn);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace deepinfer::base
