#include "core/machine/no_fork.h"

#include <array>
#include <atomic>
#include <thread>

#include "core/machine/spin_lock.h"
#include "core/machine/this_thread.h"

namespace shiftgrad {

namespace {

/// How many calls of a thread, or of some that share a number, are under way. Each number has a
/// line of the cache of its own, so that threads do not wait for one another.
struct alignas(64) Calls {
  std::atomic<int> count = 0;
};
constinit std::array<Calls, 64> calls;

/// A fork holds this lock, and waits until no call is under way.
struct Fork {
  SpinLock others;
  std::atomic<bool> begins = false;

  void lock() {
    others.lock();
    begins = true;
    for (const Calls& each : calls)
      while (each.count > 0) std::this_thread::yield();
  }
  void unlock() {
    begins = false;
    others.unlock();
  }
};
constinit Fork forking;
[[maybe_unused]] const bool forks_wait = hold_over_forks<forking>();

std::atomic<int>& own_count() { return calls[this_thread() % calls.size()].count; }

}  // namespace

NoFork::NoFork() {
  std::atomic<int>& count = own_count();
  ++count;
  while (forking.begins) {
    --count;
    while (forking.begins) std::this_thread::yield();
    ++count;
  }
}

NoFork::~NoFork() { --own_count(); }

}  // namespace shiftgrad
