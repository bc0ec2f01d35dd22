#pragma once

// Locks that are there before main and after it, and in the child of a fork.

#include <pthread.h>

#include <atomic>
#include <thread>

namespace shiftgrad {

/// A lock that is there before main and after it, which a std::mutex is not everywhere. It is for
/// what takes nanoseconds mostly: a thread tries again before it lets others run.
struct SpinLock {
  /// Whether a thread holds it.
  std::atomic_flag taken = {};

  /// Waits until no other thread holds it.
  void lock() {
    constexpr int patience = 100;
    while (taken.test_and_set(std::memory_order_acquire))
      for (int tries = 0; taken.test(std::memory_order_relaxed); ++tries)
        if (tries >= patience) std::this_thread::yield();
  }
  /// Lets another thread have it.
  void unlock() { taken.clear(std::memory_order_release); }
};

/// Holds a lock over every fork of this process from now on: a child in which nobody is left to
/// unlock it finds it free, and what it guards whole.
template <auto& lock>
bool hold_over_forks() {
  auto hold = [] { lock.lock(); };
  auto let_go = [] { lock.unlock(); };
  return pthread_atfork(hold, let_go, let_go) == 0;
}

}  // namespace shiftgrad
