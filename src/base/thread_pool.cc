#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace deepinfer::base {

struct ThreadPool::State {
  std::vector<std::jthread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  std::atomic<std::uint64_t> generation{0};
  std::atomic<int> pending{0};
  std::atomic<bool> stop{false};
  std::atomic<bool> busy{false};
  // The current loop; written before `generation` is raised.
  const RangeFn* fn = nullptr;
  std::int64_t range = 0;
  std::int64_t grain = 1;
  std::exception_ptr error;

  void run_piece(int index) {
    const auto threads = static_cast<std::int64_t>(workers.size()) + 1;
    const std::int64_t grains = (range + grain - 1) / grain;
    const std::int64_t begin = std::min(range, grains * index / threads * grain);
    const std::int64_t end = std::min(range, grains * (index + 1) / threads * grain);
    if (begin >= end) return;
    try {
      (*fn)(begin, end);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!error) error = std::current_exception();
    }
  }

  void work(int index) {
    std::uint64_t seen = 0;
    while (true) {
      for (int spin = 0; spin < 2000 && generation.load(std::memory_order_acquire) == seen && !stop; ++spin) {
        __builtin_ia32_pause();
      }
      if (generation.load(std::memory_order_acquire) == seen) {
        std::unique_lock lock(mutex);
        wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen || stop; });
      }
      if (stop) return;
      seen = generation.load(std::memory_order_acquire);
      run_piece(index);
      pending.fetch_sub(1, std::memory_order_release);
    }
  }
};

ThreadPool::ThreadPool(int num_threads) : state_(std::make_unique<State>()) {
  if (num_threads <= 0) num_threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  state_->workers.reserve(static_cast<std::size_t>(num_threads - 1));
  // Workers must see the final worker count, so none starts a loop before the constructor returns.
  for (int i = 1; i < num_threads; ++i) state_->workers.emplace_back([state = state_.get(), i] { state->work(i); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
}

int ThreadPool::num_threads() const { return static_cast<int>(state_->workers.size()) + 1; }

void ThreadPool::parallel_for(std::int64_t range, std::int64_t grain, RangeFn fn) {
  if (range <= 0) return;
  State& state = *state_;
  if (state.workers.empty() || range <= grain || state.busy.exchange(true)) {
    fn(0, range);
    return;
  }
  state.fn = &fn;
  state.range = range;
  state.grain = std::max<std::int64_t>(grain, 1);
  state.error = nullptr;
  state.pending.store(static_cast<int>(state.workers.size()), std::memory_order_relaxed);
  {
    const std::lock_guard lock(state.mutex);
    state.generation.fetch_add(1, std::memory_order_release);
  }
  state.wake.notify_all();
  state.run_piece(0);
  for (int spin = 0; state.pending.load(std::memory_order_acquire) != 0; ++spin) {
    if (spin < 4000) {
      __builtin_ia32_pause();
    } else {
      std::this_thread::yield();
    }
  }
  state.busy.store(false);
  if (state.error) std::rethrow_exception(state.error);
}

}  // namespace deepinfer::base
